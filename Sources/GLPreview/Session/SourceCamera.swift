// The camera of a feed: whether it is open, in which size, and how its pictures are counted. `SourceFeed+Camera` opens and
// closes it.

/// An open source, and the demand that it was opened with.
struct OpenSource: Sendable {
  /// A picture of it, or its end; the error of damaged frames that were skipped before; its reference size, if it reports one.
  typealias Fetched = (picture: CameraPicture?, damage: SourceError?, reference: Size?)

  let source: any FrameSource
  let demand: SourceOptions.Demand
  /// The number of this opening.
  let number: Int
  /// Its pictures are counted from this number, as those that are buffered.
  let firstSequence: Int
  /// Tasks that follow its states; empty if it has none.
  var watchers: [Task<Void, Never>] = []
  /// The request for a picture that is in progress.
  var fetch: Task<Fetched, any Error>?
  /// Whether it has given a picture since it was opened.
  var hasGivenPicture = false
  /// The time of its first picture, and how many came.
  var start: CaptureInstant?
  var pictureCount = 0
}

/// A value that decides; what runs for it is in its tasks.
struct SourceCamera {
  /// How long it stays open without a reader.
  let linger: Duration
  /// Feeds that must be closed before this one opens its source, because a camera can't be opened twice.
  var predecessors: [@Sendable () -> SourceFeed?]
  let predecessorsCloseWithin: Duration
  var opened: OpenSource?
  /// The opening in progress, shared by all that wait for it.
  var opening: Task<any FrameSource, any Error>?
  /// The last closing; the next opening waits for it.
  var lastClosing: Task<Void, Never>?
  /// Waits for a reader to come back.
  var closing: Task<Void, Never>?
  var resizing: Task<Void, Never>?
  /// The still in progress.
  var still: Task<FeedEvent?, any Error>?
  /// Whether the last frame could not be read from the open source.
  var isFailing = false
  var isOn = true
  private var openings = 0
  /// The number of the next frame, across all connections.
  private(set) var nextSequence = 0

  init(linger: Duration, after predecessors: [SourceFeed], within predecessorsCloseWithin: Duration) {
    self.linger = linger
    // Weak, so that a waiting feed does not keep them alive.
    self.predecessors = predecessors.map { feed in { [weak feed] in feed } }
    self.predecessorsCloseWithin = predecessorsCloseWithin
  }

  /// Takes a source that was opened; returns the number of the opening.
  mutating func open(
    _ source: any FrameSource, _ demand: SourceOptions.Demand, countedFrom first: Int
  ) -> Int {
    openings += 1
    opened = OpenSource(source: source, demand: demand, number: openings, firstSequence: first)
    return openings
  }

  /// Gives the open source away to be closed; nil if there is none.
  mutating func close() -> OpenSource? {
    guard let closed = opened else { return nil }
    (opened, isFailing) = (nil, false)
    return closed
  }

  /// The number of the next picture, which has the number `sequence` in its source. Numbers continue when a connection counts
  /// from 0 again; gaps are the source's.
  mutating func number(_ sequence: Int = 0) -> Int {
    nextSequence = max(nextSequence, (opened?.firstSequence ?? 0) + sequence)
    defer { nextSequence += 1 }
    return nextSequence
  }

  /// Counts a picture that was captured at `time`; whether it is hidden because the warmup lasts.
  mutating func isWarmingUp(_ warmup: Warmup, at time: CaptureInstant) -> Bool {
    guard let opened else { return false }
    let start = opened.start ?? time
    self.opened?.start = start
    self.opened?.pictureCount += 1
    return warmup.lasts(after: opened.pictureCount, from: start, at: time)
  }

  /// Whether a warmup that began when the source was opened lasts at its newest picture, captured at `time`.
  func lasts(_ warmup: Warmup, at time: CaptureInstant) -> Bool {
    guard let opened, let start = opened.start else { return false }
    return warmup.lasts(after: opened.pictureCount - 1, from: start, at: time)
  }

  /// When the camera is to change its size for a demand; nil if it keeps it. Larger pictures are requested at once, smaller
  /// ones only after a while, because a camera that changes its size pauses.
  func resizes(for wanted: SourceOptions.Demand) -> Duration? {
    guard let demand = opened?.demand, wanted != demand else { return nil }
    if !wanted.isServed(by: demand) { return .zero }
    return wanted.isMuchLess(than: demand) ? .seconds(5) : nil
  }
}

extension SourceOptions.Demand {
  /// Whether pictures requested with `other` are large enough.
  fileprivate func isServed(by other: SourceOptions.Demand) -> Bool {
    guard isPinned == other.isPinned else { return other.isPinned }
    guard let size = minimumSize, let theirs = other.minimumSize else { return other.minimumSize == nil }
    return size.width <= theirs.width && size.height <= theirs.height
  }

  /// Whether the difference is worth a pause.
  fileprivate func isMuchLess(than other: SourceOptions.Demand) -> Bool {
    guard let size = minimumSize else { return false }
    guard let theirs = other.minimumSize else { return true }
    return 2 * size.pixelCount <= theirs.pixelCount
  }
}
