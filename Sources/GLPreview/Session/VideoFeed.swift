// The encoder of a preview: runs while there are watchers, and gives each watcher the samples that it can
// take. Where the source's own H.264 will do, that is passed through instead.
internal import Synchronization

/// Encodes a preview's pictures in one configuration for all its watchers, or passes the source's own H.264
/// through to them.
final class VideoFeed: Sendable {
  let preview: Preview
  let state: Watched<State>
  private let configuration: VideoConfiguration
  private let passes: Bool
  private let encoder: VideoEncoder
  private let times: VideoTimes
  private let counters: VideoCounters

  struct State {
    var watchers: [Int: VideoWatcher] = [:]
    var control: BitrateControl
    var rate = PictureRate()
    var lastID = 0
    var keys: KeySchedule
    /// A picture that was read, but not encoded yet.
    var picture: PreviewPicture?
    /// The last picture that was passed through; nil if the last one was encoded.
    var passed: OriginalVideo.Place?
    /// The format of the last sample.
    var format: H264Format?
    /// The time of the last sample.
    var lastTime: CaptureInstant?
    /// Set when no more pictures come; no watcher can join after that.
    var end: Result<Void, any Error>?
  }

  init(
    _ preview: Preview, _ configuration: VideoConfiguration, _ encoder: VideoEncoder, _ times: VideoTimes,
    passes: Bool, counting counters: VideoCounters
  ) {
    self.passes = passes
    self.counters = counters
    self.configuration = configuration
    self.preview = preview
    self.encoder = encoder
    self.times = times
    let keys = KeySchedule(
      every: configuration.keyframeInterval, joining: times.joining, dropping: times.dropping)
    state = Watched(State(control: times.control, keys: keys))
  }

  // MARK: Watchers

  /// Adds a watcher, which reads in batches with `inBatches`. Nil if the feed has ended.
  func join(inBatches readsInBatches: Bool = false) -> VideoWatch? {
    let id = state.update { state -> Int? in
      guard state.end == nil else { return nil }
      state.lastID += 1
      var watcher = VideoWatcher()
      watcher.readsInBatches = readsInBatches
      if let last = past(state) {
        watcher.begin(last.video.pictures(after: nil, through: last.index).map(\.sample))
      }
      state.watchers[state.lastID] = watcher
      if watcher.needsKey { state.keys.join() }
      return state.lastID
    }
    return id.map { VideoWatch(self, $0) }
  }

  /// The buffered originals that a new watcher begins with. Nil if they were captured before the last change
  /// of the view, or through a connection that has ended.
  func past(_ state: State) -> OriginalVideo.Place? {
    state.passed.flatMap { !$0.video.isOver && preview.passesVideo(since: $0.keyTime) ? $0 : nil }
  }

  /// The format of the last sample; nil before the first.
  var format: H264Format? { state.value.format }

  /// The bit rate for pictures of the current format; nil before the first, and while originals are passed
  /// through.
  var bitrate: Int? {
    state.withLock { state in
      guard let format = state.format, format.encoder != nil else { return nil }
      return Int(Double(configuration.bitrate(for: format.size)) * state.control.factor)
    }
  }

  /// Gives samples to all watchers; to batched ones only samples of the camera (`isOfCamera`). `place` is
  /// that of the last sample if they are passed through.
  private func deliver(
    _ samples: [VideoSample], passing place: OriginalVideo.Place? = nil, isOfCamera: Bool = true,
    at now: CaptureInstant
  ) {
    guard let last = samples.last else { return }
    let (before, dropped) = state.update { [times] state in
      defer { (state.format, state.passed) = (last.format, place) }
      let samples = samples.map { state.stamped($0) }
      var dropped = 0
      if samples.contains(where: \.isKey) { state.keys.came(at: now) }
      for sample in samples { state.rate.saw(sample.timestamp) }
      for (id, var watcher) in state.watchers where isOfCamera || !watcher.readsInBatches {
        let lost = watcher.take(samples, times)
        dropped += lost.count
        if lost.isTooSlow { state.control.dropped(id, at: now) }
        state.watchers[id] = watcher
      }
      let watchers = state.watchers
      state.control.adjust(watchers: watchers.values.reduce(0) { $0 + $1.clients }, at: now) {
        watchers[$0]?.clients ?? 0
      }
      return (state.format?.encoder, dropped)
    }
    counters.changed(from: before, to: last.format.encoder)
    counters.count(samples, dropped: dropped)
  }

  // MARK: Encoding

  /// Runs until the preview ends, or there was no watcher for a while.
  func run() async {
    defer { counters.changed(from: format?.encoder, to: nil) }
    do { while await isWatched() { try await encodeWhileWatched() } } catch { end(.failure(error)) }
  }

  private func end(_ end: Result<Void, any Error>) {
    state.update {
      $0.end = $0.end ?? end
      $0.picture = nil
    }
  }

  /// Waits for a watcher. False if the preview has ended, or if there is none for as long as the encoder
  /// lingers, which ends the feed.
  private func isWatched() async -> Bool {
    let found = try? await state.first(until: CaptureClock.now + times.linger) {
      $0.end != nil ? false : $0.watchers.isEmpty ? nil : true
    }
    if let found { return found }
    return state.withLock { state in
      if state.watchers.isEmpty { state.end = .success(()) }
      return state.end == nil
    }
  }

  /// Encodes until the last watcher leaves or the preview ends.
  private func encodeWhileWatched() async throws {
    var plan = EncoderPlan(repeats: times.repeats)
    var reading = read(PreviewPictures(preview, as: .video).makeAsyncIterator())
    defer {
      reading.cancel()
      state.withLock { state in
        state.passed?.video.wait(for: nil, by: ObjectIdentifier(self))
        (state.picture, state.passed, state.lastTime) = (nil, nil, nil)
      }
    }
    while true {
      switch try await event(after: plan.encodedAt) {
      case .over: return
      case .sooner: continue
      case .picture(let picture):
        let now = CaptureClock.now
        let isBatched = state.withLock { $0.allReadInBatches }
        for step in plan.steps(for: picture, isBatched: isBatched, at: now) {
          try await perform(step, picture, at: now)
        }
      case nil:
        // Requests the current picture from the session again: a picture that may no longer be shown is never
        // repeated from memory.
        reading.cancel()
        reading = read(await reading.value, isRepeated: true)
        plan.encodedAt = nil
      }
    }
  }

  private enum Event {
    case picture(PreviewPicture)
    /// A watcher needs a keyframe before the end of the wait.
    case sooner
    case over
  }

  /// Waits for a picture; nil if the one that was encoded at `last` is to be repeated.
  private func event(after last: CaptureInstant?) async throws -> Event? {
    let wake = last.map { last in
      min(last + times.repeats, state.withLock { $0.keys.due } ?? last + times.repeats)
    }
    return try await state.first(until: wake) { state in
      if state.watchers.isEmpty { return .over }
      if let picture = state.picture { return .picture(picture) }
      try state.end?.get()
      if state.end != nil { return .over }
      if let wake, let due = state.keys.due, due < wake { return .sooner }
      return nil
    }
  }

  private func perform(
    _ step: EncoderPlan.Step, _ picture: PreviewPicture, at now: CaptureInstant
  ) async throws {
    switch (step, picture) {
    case (.flush, _): if let newest = state.withLock({ $0.passed?.video.newest }) { pass(newest) }
    case (.discard(let batched), _): state.update { $0.loseUnread { batched || !$0.readsInBatches } }
    case (.loseSource, _):
      state.update { state in for id in state.watchers.keys { state.watchers[id]?.sourceLost() } }
    case (.rest, _): await encoder.rest()
    case (.passOn, _):
      if let place = picture.video { pass(place) }
      state.update { $0.picture = nil }
    case (.encode(let keyframe, let time), .drawn(let rendered)):
      let isOfCamera = rendered.sourceState == .live
      let (isDue, factor) = state.update { state in
        // The next one is read while this one is encoded.
        state.picture = nil
        return (state.takeKeyframeRequest(isOfCamera: isOfCamera, at: now), state.control.factor)
      }
      let sample = try await encoder.encode(
        rendered.picture, at: time, isKey: keyframe || isDue, bitrateFactor: factor)
      deliver([sample], isOfCamera: isOfCamera, at: now)
    default: state.update { ($0.picture, $0.passed) = (nil, nil) }
    }
  }

  /// Passes through the pictures that the source has sent after the last original, or from a keyframe on.
  private func pass(_ place: OriginalVideo.Place) {
    let (last, isBatched) = state.withLock { ($0.passed, $0.allReadInBatches) }
    let known = last?.video === place.video ? last?.index : nil
    var pictures = place.video.pictures(after: known, through: place.index)
    place.video.wait(for: isBatched ? place.index + 1 : nil, by: ObjectIdentifier(self))
    // The view may have changed since the picture was requested.
    guard let first = pictures.first, preview.passesVideo(since: place.keyTime) else { return }
    // Pictures captured before the view was enabled, or last changed, are left out.
    if !preview.passesVideo(since: first.capturedAt) {
      pictures.removeFirst(pictures.lastIndex(where: \.sample.isKey) ?? pictures.count)
    }
    deliver(pictures.map(\.sample), passing: place, at: CaptureClock.now)
  }

  /// Reads pictures, one ahead: the next one is drawn while this one is encoded. With `isRepeated`, it begins
  /// with the current one.
  private func read(_ iterator: PreviewPictures.Iterator, isRepeated: Bool = false) -> Task<
    PreviewPictures.Iterator, Never
  > {
    // Only the task owns the iterator: a copy elsewhere would keep the camera open while the preview is
    // disabled.
    let handed = Mutex<PreviewPictures.Iterator?>(iterator)
    return Task {
      var iterator = handed.withLock { $0.take() } ?? PreviewPictures(preview, as: .video).makeAsyncIterator()
      if isRepeated { iterator.forget() }
      do {
        while let picture = try await iterator.nextPicture(passes: passes) {
          state.update { if !Task.isCancelled { $0.picture = picture } }
          _ = try await state.first { $0.picture == nil && !$0.needsNoPicture ? true : nil }
        }
        // A task that is cancelled because encoding failed must not report that the preview has ended.
        if !Task.isCancelled { end(.success(())) }
      } catch {
        if !Task.isCancelled { end(.failure(error)) }
      }
      return iterator
    }
  }
}

/// Decisions about all watchers at once.
extension VideoFeed.State {
  /// Whether a watcher has lost pictures, and has not requested a keyframe since.
  func isLost(_ watcher: Int) -> Bool {
    watchers[watcher].map { $0.unread.isEmpty && !$0.isKeyRequested } ?? false
  }

  /// Discards the unread samples of the watchers that `isLost` selects.
  mutating func loseUnread(_ isLost: (VideoWatcher) -> Bool) {
    for (id, watcher) in watchers where !watcher.unread.isEmpty && isLost(watcher) { watchers[id]?.lose() }
  }

  /// Whether no watcher needs the next picture yet, because originals are passed through: the source buffers its own
  /// H.264, and batched watchers read it later.
  var needsNoPicture: Bool { passed != nil && watchers.values.allSatisfy(\.needsNoPicture) }

  /// Whether all watchers read in batches.
  var allReadInBatches: Bool { watchers.values.allSatisfy(\.readsInBatches) }

  mutating func requestKeyframe(_ watcher: Int) {
    guard isLost(watcher) else { return }
    watchers[watcher]?.isKeyRequested = true
    keys.drop()
    control.resumed(watcher, at: CaptureClock.now)
  }

  /// Returns whether the picture that is encoded now is to be a keyframe, which serves all requests for one. Batched
  /// watchers only request keyframes of the camera's pictures.
  mutating func takeKeyframeRequest(isOfCamera: Bool, at now: CaptureInstant) -> Bool {
    if isOfCamera, watchers.values.contains(where: { $0.readsInBatches && $0.needsKey }) { keys.join() }
    return keys.asks(at: now)
  }

  /// Returns the sample, moved if necessary to be later than the last one: samples of a camera and of an
  /// encoder may follow one another.
  mutating func stamped(_ sample: VideoSample) -> VideoSample {
    let sample = lastTime.map { sample.later(than: $0) } ?? sample
    lastTime = sample.timestamp
    return sample
  }
}
