// The running encoders of a preview, and who watches them.
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

  /// Waits for the next sample; nil at the end.
  package func next() async throws -> VideoSample? { try await feed.next(watcher) }

  /// Ends it now; `next` returns nil.
  package func end() { feed.leave(watcher) }
}
