// The running encoders of a preview, and who watches them.
package import PreviewCore
internal import Synchronization

/// A preview's feeds, by configuration.
final class VideoFeeds: Sendable {
  private let feeds = Mutex<[VideoConfiguration: VideoFeed]>([:])

  /// The running encoders.
  var count: Int { feeds.withLock { $0.count } }

  /// The format of the encoder that runs with a configuration; nil before its first sample.
  func format(_ configuration: VideoConfiguration) -> H264Format? {
    feeds.withLock { $0[configuration] }?.format
  }

  /// The bit rate of the encoder that runs with a configuration, likewise.
  func bitrate(_ configuration: VideoConfiguration) -> Int? {
    feeds.withLock { $0[configuration] }?.bitrate
  }

  /// Watches a preview; the first who does starts the encoder.
  func watch(
    _ preview: Preview, _ configuration: VideoConfiguration, _ times: VideoTimes,
    counting counters: VideoCounters = VideoCounters(), _ encoder: () -> VideoEncoder
  ) -> VideoWatch {
    feeds.withLock { feeds in
      if let feed = feeds[configuration], let watcher = feed.join() { return VideoWatch(feed, watcher) }
      let feed = VideoFeed(preview, configuration, encoder(), times, counting: counters)
      feeds[configuration] = feed
      Task {
        await feed.run()
        self.feeds.withLock { if $0[configuration] === feed { $0[configuration] = nil } }
      }
      return VideoWatch(feed, feed.join() ?? 0)
    }
  }
}

/// A watcher of a feed, for as long as this object exists.
package final class VideoWatch: Sendable {
  private let feed: VideoFeed
  private let watcher: Int

  init(_ feed: VideoFeed, _ watcher: Int) {
    self.feed = feed
    self.watcher = watcher
  }

  deinit { feed.leave(watcher) }

  /// How a watcher keeps up, and what there is to keep up with.
  package struct Standing: Sendable {
    /// Whether it goes on dropping pictures although the shared bit rate goes down no more.
    package let isLeftBehind: Bool
    /// When it last dropped some, or had not resumed yet.
    package let lastDrop: CaptureInstant?
    /// The size of the pictures; nil before the first.
    package let size: Size?
    package let picturesPerSecond: Double
  }

  package func standing(at now: CaptureInstant) -> Standing { feed.standing(of: watcher, at: now) }

  /// A key picture comes soon; nothing is lost.
  package func askForKey() { feed.askForKey() }

  /// Samples were lost after `next` had returned them: the next one is a key picture.
  package func lost() { feed.lost(watcher) }

  /// Waits for the next sample; nil at the end.
  package func next() async throws -> VideoSample? { try await feed.next(watcher) }

  /// Ends it now; `next` returns nil.
  package func end() { feed.leave(watcher) }
}
