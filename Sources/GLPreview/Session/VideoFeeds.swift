// The running encoders of a preview, and who watches them.
package import PreviewCore
internal import Synchronization

/// A preview's feeds, by configuration and by whether they may pass the source's own H.264 on.
final class VideoFeeds: Sendable {
  private struct Key: Hashable {
    let configuration: VideoConfiguration
    let passes: Bool
  }

  private let feeds = Mutex<[Key: VideoFeed]>([:])

  /// The running encoders.
  var count: Int { feeds.withLock { $0.count } }

  /// The format of the encoder that runs with a configuration; nil before its first sample.
  func format(_ configuration: VideoConfiguration) -> H264Format? { running(configuration)?.format }

  /// The bit rate of the encoder that runs with a configuration, likewise.
  func bitrate(_ configuration: VideoConfiguration) -> Int? { running(configuration)?.bitrate }

  private func running(_ configuration: VideoConfiguration) -> VideoFeed? {
    feeds.withLock { feeds in
      feeds[Key(configuration: configuration, passes: true)]
        ?? feeds[Key(configuration: configuration, passes: false)]
    }
  }

  /// Watches a preview; the first watcher starts the encoder. With `passes`, a default configuration accepts the source's own
  /// H.264. A patient watcher calls `nextSamples` about twice a second. Between its calls the feed only keeps the samples.
  func watch(
    _ preview: Preview, _ configuration: VideoConfiguration, _ times: VideoTimes,
    passes: Bool = false, patiently isPatient: Bool = false,
    counting counters: VideoCounters = VideoCounters(), _ encoder: () -> VideoEncoder
  ) -> VideoWatch {
    let key = Key(configuration: configuration, passes: passes && configuration.takesAnyVideo)
    return feeds.withLock { feeds in
      if let feed = feeds[key], let watcher = feed.join(patiently: isPatient) {
        return VideoWatch(feed, watcher)
      }
      let feed = VideoFeed(
        preview, configuration, encoder(), times, passes: key.passes, counting: counters)
      feeds[key] = feed
      // Before it runs: without a watcher it may end at once.
      let watch = VideoWatch(feed, feed.join(patiently: isPatient) ?? 0)
      Task {
        await feed.run()
        self.feeds.withLock { if $0[key] === feed { $0[key] = nil } }
      }
      return watch
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

  /// Whether new watchers may get kept pictures, from the last key picture on.
  package var showsPast: Bool { feed.showsPast }

  /// Samples were lost after `next` had returned them: the next one is a key picture.
  package func lost() { feed.lost(watcher) }

  /// Waits for the next sample; nil at the end.
  package func next() async throws -> VideoSample? { try await feed.next(watcher) }

  /// Waits for all samples since the last call, of one that watches patiently; none where the camera has stopped showing
  /// anything, nil at the end.
  package func nextSamples() async throws -> [VideoSample]? { try await feed.nextSamples(watcher) }

  /// It is read for so many clients, each of which counts where most of them decide.
  package func stand(for clients: Int) { feed.stand(watcher, for: clients) }

  /// Ends it now; `next` returns nil.
  package func end() { feed.leave(watcher) }
}
