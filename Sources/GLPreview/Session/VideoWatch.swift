// A subscription to a preview's video.

/// A watcher of a feed, for as long as this object exists.
package final class VideoWatch: Sendable {
  private let feed: VideoFeed
  private let id: Int

  init(_ feed: VideoFeed, _ id: Int) {
    self.feed = feed
    self.id = id
  }

  deinit { end() }

  /// How well a watcher keeps up, and the size and rate of the pictures.
  package struct Standing: Sendable {
    /// Whether it goes on dropping pictures although the shared bit rate goes down no more.
    package let isLeftBehind: Bool
    /// When it last dropped pictures, or had not resumed yet.
    package let lastDrop: CaptureInstant?
    /// The size of the pictures; nil before the first.
    package let size: Size?
    package let picturesPerSecond: Double
  }

  package func standing(at now: CaptureInstant) -> Standing {
    feed.state.withLock { state in
      Standing(
        isLeftBehind: state.control.isLeftBehind(id, at: now), lastDrop: state.control.lastDrop(of: id),
        size: state.format?.size, picturesPerSecond: state.rate.picturesPerSecond)
    }
  }

  /// Requests a keyframe for all watchers; no picture was lost.
  package func requestKeyframe() { feed.state.update { $0.keys.join() } }

  /// Whether new watchers may begin with buffered pictures, from the last keyframe on.
  package var showsPast: Bool { feed.state.withLock { feed.past($0) != nil } }

  /// Reports that the network lost samples after `next` had returned them: the next one is a keyframe.
  package func lost() {
    feed.state.update { state in
      guard let known = state.watchers[id] else { return }
      state.watchers[id] = VideoWatcher(clients: known.clients)
      state.keys.join()
      state.control.dropped(id, at: CaptureClock.now)
    }
  }

  /// Waits for the next sample; nil at the end.
  package func next() async throws -> VideoSample? {
    if feed.state.withLock({ $0.isLost(id) }) { feed.state.update { $0.requestKeyframe(id) } }
    return try await first { $0?.read(isShown: feed.preview.isShown) }
  }

  /// Waits for all samples since the last call; for batched watchers. Empty where the camera has stopped
  /// showing anything, nil at the end.
  package func nextSamples() async throws -> [VideoSample]? {
    feed.state.update { $0.watchers[id]?.isWaiting = true }
    return try await first { $0?.readAll(isShown: feed.preview.isShown) }
  }

  /// Waits until there is something to read; nil at the end.
  private func first<Read: Sendable>(_ read: (inout VideoWatcher?) -> Read?) async throws -> Read? {
    let found = try await feed.state.first { state -> Read?? in
      if let found = read(&state.watchers[id]) { return .some(found) }
      if state.watchers[id] == nil { return .some(nil) }
      state.requestKeyframe(id)
      try state.end?.get()
      return state.end == nil ? nil : .some(nil)
    }
    return found.flatMap { $0 }
  }

  /// Sets how many clients it reads for. Each counts in decisions by majority, such as about the bit rate.
  package func setClients(_ count: Int) { feed.state.update { $0.watchers[id]?.clients = count } }

  /// Ends it now; `next` returns nil.
  package func end() {
    feed.state.update {
      $0.watchers[id] = nil
      $0.control.left(id)
    }
  }
}
