// The running encoders of a preview.
internal import Synchronization

/// A preview's feeds, by configuration and by whether they may pass through the source's own H.264.
final class VideoFeeds: Sendable {
  private struct Key: Hashable {
    let configuration: VideoConfiguration
    let passes: Bool
  }

  private let feeds = Mutex<[Key: VideoFeed]>([:])

  /// The running encoders.
  var count: Int { feeds.withLock { $0.count } }

  /// Whether a watcher reads in batches, as recordings do.
  var areReadInBatches: Bool {
    feeds.withLock { $0.values }.contains {
      $0.state.withLock { $0.watchers.values.contains(where: \.readsInBatches) }
    }
  }

  /// The feed with a configuration; nil if none runs.
  func running(_ configuration: VideoConfiguration) -> VideoFeed? {
    feeds.withLock { feeds in
      feeds[Key(configuration: configuration, passes: true)]
        ?? feeds[Key(configuration: configuration, passes: false)]
    }
  }

  /// Watches a preview; the first watcher starts the encoder. With `passes`, a default configuration accepts
  /// the source's own H.264. A watcher with `inBatches` calls `nextSamples` about twice a second. Between its
  /// calls the feed only buffers the samples.
  func watch(
    _ preview: Preview, _ configuration: VideoConfiguration, _ times: VideoTimes,
    passes: Bool = false, inBatches readsInBatches: Bool = false,
    counting counters: VideoCounters = VideoCounters(), _ encoder: () -> VideoEncoder
  ) -> VideoWatch {
    let key = Key(configuration: configuration, passes: passes && configuration.takesAnyVideo)
    return feeds.withLock { feeds in
      if let watch = feeds[key]?.join(inBatches: readsInBatches) { return watch }
      let feed = VideoFeed(
        preview, configuration, encoder(), times, passes: key.passes, counting: counters)
      feeds[key] = feed
      // The watcher joins before the feed runs: without a watcher it may end at once.
      let watch = feed.join(inBatches: readsInBatches) ?? VideoWatch(feed, 0)
      Task {
        await feed.run()
        self.feeds.withLock { if $0[key] === feed { $0[key] = nil } }
      }
      return watch
    }
  }
}
