// A source of a running session, found by its name.

extension PreviewSession {
  /// The source of this name; nil if there is none.
  ///
  /// ```swift
  /// if let status = await session["door"]?.status { print(status.state) }
  /// ```
  public subscript(name: String) -> Source? { core.feed(name).map { Source(name: name, feed: $0) } }

  /// The sources, in the order in which they were added.
  public var sources: [Source] { core.sources.compactMap { self[$0.name] } }

  /// Which sources have begun or ended to work.
  package var activity: SourceActivity { core.activity }

  /// A source of a running session: its state, and its switch. It does not keep the session alive.
  public struct Source: Sendable {
    /// The name, unique in its session.
    public let name: String
    let feed: SourceFeed

    /// The upright reference size, which crops refer to; nil before the first frame, unless
    /// `SourceOptions.referenceSize` sets it.
    public var size: Size? { feed.drawing.reference }

    /// The state of a live source, its reason and counters; nil if it is not open, or is not live, as a file.
    public var status: SourceStatus? { get async { await feed.status } }

    /// The last error of opening or reading; nil if there was none, or a frame has arrived since.
    ///
    /// Previews of the source throw the error; scenes show a fallback instead, so read the reason here. A live
    /// source that is retried does not fail: its `status` describes it.
    public var failure: (any Error)? { get async { await feed.failure } }

    /// The state of the source in one look. An inactive source, which is neither open nor being opened, does
    /// not change without a note in its session's `activity`.
    package var observation: SourceObservation { get async { await feed.observation } }

    /// Switches the source off or on again, as participants of a call do. A source that is off is closed, and
    /// its readers get its fallback.
    public func setEnabled(_ isEnabled: Bool) async { await feed.setOn(isEnabled) }

    /// The counters of its frames since it was added. Pictures are only counted for the whole session.
    public var statistics: Statistics { feed.counters.now }

    /// The times of the earliest and the latest picture in its replay buffer; nil if there is none.
    public var bufferedTimes: ClosedRange<WallTime>? { feed.replay?.span }

    /// How much its replay buffer holds; nil without one (`SessionSource.replay`).
    public var replayStatus: ReplayStatus? { feed.replay?.buffer.status }
  }
}
