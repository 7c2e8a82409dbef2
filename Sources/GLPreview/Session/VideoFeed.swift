// The encoder of a preview: runs while somebody watches, and gives each watcher what it can take. Where the source's own H.264
// will do, that is passed on instead.
internal import PreviewCore
internal import Synchronization

/// Encodes a preview's pictures in one configuration for all its watchers, or passes the source's own H.264 on to them.
final class VideoFeed: Sendable {
  private let preview: Preview
  private let passes: Bool
  private let encoder: VideoEncoder
  private let times: VideoTimes
  private let counters: VideoCounters
  private let state: Watched<State>

  struct State {
    var watchers: [Int: VideoWatcher] = [:]
    var control: BitrateControl
    var rate = PictureRate()
    var lastID = 0
    var keys: KeySchedule
    /// Read, but not encoded yet.
    var picture: PreviewPicture?
    /// The last picture that was passed on; nil if the last one was encoded.
    var passed: PassableVideo.Place?
    /// The format of the last sample.
    var format: H264Format?
    /// Set when no more pictures come; nobody can join any more.
    var end: Result<Void, any Error>?
  }

  private let configuration: VideoConfiguration

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

  /// The number of a new watcher; nil if the feed has ended.
  func join(patiently isPatient: Bool = false) -> Int? {
    state.update { state in
      guard state.end == nil else { return nil }
      state.lastID += 1
      var watcher = VideoWatcher()
      watcher.isPatient = isPatient
      if let last = past(state) {
        watcher.begin(last.video.pictures(after: nil, through: last.index).map(\.sample))
      }
      state.watchers[state.lastID] = watcher
      if watcher.needsKey { state.keys.join() }
      return state.lastID
    }
  }

  /// The kept pictures that a new watcher begins with. Nil if they were captured before the view was as it is now, or through a
  /// connection that has ended.
  private func past(_ state: State) -> PassableVideo.Place? {
    state.passed.flatMap { !$0.video.isOver && preview.passesVideo(since: $0.keyTime) ? $0 : nil }
  }

  /// Whether new watchers may get kept pictures, from the last key picture on.
  var showsPast: Bool { state.withLock { past($0) != nil } }

  func leave(_ watcher: Int) {
    state.update {
      $0.watchers[watcher] = nil
      $0.control.left(watcher)
    }
  }

  /// The network lost pictures that the watcher had read. The watcher continues with a key picture.
  func lost(_ watcher: Int) {
    state.update { state in
      guard let known = state.watchers[watcher] else { return }
      state.watchers[watcher] = VideoWatcher(clients: known.clients)
      state.keys.join()
      state.control.dropped(watcher, at: CaptureClock.now)
    }
  }

  /// Asks for a key picture for all watchers; no picture was lost.
  func askForKey() { state.update { $0.keys.join() } }

  func standing(of watcher: Int, at now: CaptureInstant) -> VideoWatch.Standing {
    state.withLock { state in
      VideoWatch.Standing(
        isLeftBehind: state.control.isLeftBehind(watcher, at: now),
        lastDrop: state.control.lastDrop(of: watcher), size: state.format?.size,
        picturesPerSecond: state.rate.picturesPerSecond)
    }
  }

  /// A watcher reads for several clients; each counts where most of them decide.
  func stand(_ watcher: Int, for clients: Int) { state.update { $0.watchers[watcher]?.clients = clients } }

  var watcherCount: Int { state.value.watchers.count }

  /// The format of the last sample; nil before the first.
  var format: H264Format? { state.value.format }

  /// The bit rate that is used for pictures of the format; nil before the first, and while they are passed on.
  var bitrate: Int? {
    state.withLock { state in
      guard let format = state.format, format.encoder != nil else { return nil }
      return Int(Double(configuration.bitrate(for: format.size)) * state.control.factor)
    }
  }

  /// Waits for the next sample of a watcher; nil at the end.
  func next(_ watcher: Int) async throws -> VideoSample? {
    if state.withLock({ $0.isLost(watcher) }) { state.update { $0.askForKey(watcher) } }
    let next = try await state.first { [preview] state -> VideoSample?? in
      if state.watchers[watcher]?.unread.isEmpty == false, !preview.isShown {
        state.watchers[watcher]?.lose()
      }
      if state.watchers[watcher]?.unread.isEmpty == false {
        return .some(state.watchers[watcher]?.read())
      }
      if state.watchers[watcher] == nil { return .some(nil) }
      state.askForKey(watcher)
      guard let end = state.end else { return nil }
      try end.get()
      return .some(nil)
    }
    return next.flatMap { $0 }
  }

  /// Waits for the next samples of a patient watcher; none where the camera has stopped showing anything, nil at the end.
  func nextSamples(_ watcher: Int) async throws -> [VideoSample]? {
    state.update { $0.watchers[watcher]?.isAsking = true }
    let next = try await state.first { [preview] state -> [VideoSample]?? in
      guard var known = state.watchers[watcher] else { return .some(nil) }
      if !preview.isShown { known.lose() }
      let samples = known.readAll()
      state.watchers[watcher] = known
      if let samples { return .some(samples) }
      state.askForKey(watcher)
      try state.end?.get()
      return state.end == nil ? nil : .some(nil)
    }
    return next.flatMap { $0 }
  }

  /// Gives samples to all watchers; `place` is that of the last one if they are passed on.
  private func deliver(
    _ samples: [VideoSample], passing place: PassableVideo.Place? = nil, isOfCamera: Bool = true,
    at now: CaptureInstant
  ) {
    guard let last = samples.last else { return }
    let (before, dropped) = state.update { [times] state in
      defer { (state.format, state.passed) = (last.format, place) }
      var dropped = 0
      if samples.contains(where: \.isKey) { state.keys.came(at: now) }
      for sample in samples { state.rate.saw(sample.timestamp) }
      for (id, var watcher) in state.watchers where isOfCamera || !watcher.isPatient {
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

  /// Runs until the preview ends, or nobody has watched for a while.
  func run() async {
    defer { counters.changed(from: format?.encoder, to: nil) }
    do {
      while await isWatched() {
        guard try await encodeWhileWatched() else { return end(.success(())) }
      }
    } catch {
      end(.failure(error))
    }
  }

  private func end(_ end: Result<Void, any Error>) {
    state.update {
      $0.end = $0.end ?? end
      $0.picture = nil
    }
  }

  /// Waits for a watcher; false if there is none for as long as the encoder lingers, which ends the feed.
  private func isWatched() async -> Bool {
    let found = try? await state.first(until: CaptureClock.now + times.linger) {
      $0.watchers.isEmpty ? nil : true
    }
    if found == true { return true }
    return state.withLock { state in
      if state.watchers.isEmpty { state.end = .success(()) }
      return state.end == nil
    }
  }

  private enum Step {
    case picture(PreviewPicture)
    /// Somebody needs a key picture before the time that was waited for.
    case sooner
    case unwatched
    case ended
  }

  /// Encodes until nobody watches; false if the preview has ended.
  private func encodeWhileWatched() async throws -> Bool {
    var reading = read(PreviewFrames(preview, as: .video).makeAsyncIterator())
    defer {
      reading.cancel()
      state.withLock { state in
        state.passed?.video.wait(for: nil, by: ObjectIdentifier(self))
        (state.picture, state.passed) = (nil, nil)
      }
    }
    var (shown, encodedAt): (PictureKey?, CaptureInstant?)
    var (sourceState, clock) = (SourceState.live, SampleClock())
    /// The last picture that was passed on; nil where the last one was encoded.
    var passed: PassableVideo.Place?
    while true {
      let wake = encodedAt.map(wakeTime)
      let step = try await state.first(until: wake) { state -> Step? in
        if state.watchers.isEmpty { return .unwatched }
        if let picture = state.picture { return .picture(picture) }
        try state.end?.get()
        if state.end != nil { return .ended }
        if let wake, let due = state.keys.due, due < wake { return .sooner }
        return nil
      }
      switch step {
      case .unwatched: return true
      case .ended: return false
      case .sooner: continue
      case .picture(let picture):
        let isReplaced =
          shown.map { $0.version != picture.key.version } ?? false || picture.sourceState != sourceState
        let now = CaptureClock.now
        let isOfCamera = picture.sourceState == .live
        let isHidden = picture.sourceState == .off || shown?.version != picture.key.version
        // What the camera sent before it was lost, and nobody has asked for yet.
        if !isOfCamera, !isHidden, let last = passed, let newest = last.video.newest {
          passed = pass(newest, after: last, &clock)
        }
        let (isKey, factor, isPatient) = state.update { state in
          // Let the next one be read while this one is encoded. One that is passed on is known by then.
          if case .video = picture {} else { state.picture = nil }
          // What was shown before a change of the view, or before its camera was switched off, is not shown after it.
          if isReplaced { state.loseUnread { isHidden || !$0.isPatient } }
          for id in state.watchers.keys where !isOfCamera { state.watchers[id]?.leaveAway() }
          if isOfCamera, state.watchers.values.contains(where: { $0.isPatient && $0.needsKey }) {
            state.keys.join()
          }
          return (state.keys.asks(at: now), state.control.factor, state.isPatient)
        }
        sourceState = picture.sourceState
        switch picture {
        case .passed: break
        case .video(let video):
          if passed == nil { await encoder.rest() }
          (shown, encodedAt) = (video.key, nil)
          passed = pass(video.place, after: passed, &clock)
          state.update { $0.picture = nil }
        case .drawn(let rendered) where !isOfCamera && isPatient:
          (shown, encodedAt, passed) = (rendered.key, nil, nil)
          state.withLock { $0.passed = nil }
        case .drawn(let rendered):
          let time = rendered.key == shown ? now : max(rendered.timestamp, now - times.repeats)
          let sample = try await encoder.encode(
            rendered.picture, at: clock.time(after: time), isKey: isKey || passed != nil,
            bitrateFactor: factor)
          (shown, encodedAt, passed) = (rendered.key, now, nil)
          clock.last = sample.timestamp
          deliver([sample], isOfCamera: isOfCamera, at: now)
        }
      case nil:
        // Nothing new comes. The session is asked for the current picture once more: what may no longer be shown is
        // never repeated from memory.
        reading.cancel()
        var iterator = await reading.value
        iterator.forget()
        reading = read(iterator)
        encodedAt = nil
      }
    }
  }

  /// Passes on what the source has sent after `last`, or from a key picture on. Returns the last picture that was passed on.
  private func pass(
    _ place: PassableVideo.Place, after last: PassableVideo.Place?, _ clock: inout SampleClock
  ) -> PassableVideo.Place? {
    let known = last?.video === place.video ? last?.index : nil
    var pictures = place.video.pictures(after: known, through: place.index)
    place.video.wait(
      for: state.withLock { $0.isPatient } ? place.index + 1 : nil, by: ObjectIdentifier(self))
    // The view may have changed since it was asked for.
    guard let first = pictures.first, preview.passesVideo(since: place.keyTime) else { return last }
    // What was captured while it was hidden, or was another, is left out.
    if !preview.passesVideo(since: first.capturedAt) {
      pictures.removeFirst(pictures.lastIndex(where: \.sample.isKey) ?? pictures.count)
    }
    deliver(pictures.map { clock.stamped($0.sample) }, passing: place, at: CaptureClock.now)
    return place
  }

  /// Until when a new picture is waited for, after one at `last`.
  private func wakeTime(after last: CaptureInstant) -> CaptureInstant {
    let due = state.withLock { $0.keys.due }
    return min(last + times.repeats, due ?? last + times.repeats)
  }

  /// Reads pictures, one ahead: the next one is drawn while this one is encoded.
  private func read(_ iterator: PreviewFrames.Iterator) -> Task<PreviewFrames.Iterator, Never> {
    // The task owns it alone: a copy that is kept elsewhere would keep the camera open while the preview is disabled.
    let handed = Mutex<PreviewFrames.Iterator?>(iterator)
    return Task {
      var iterator = handed.withLock { $0.take() } ?? PreviewFrames(preview, as: .video).makeAsyncIterator()
      do {
        while let picture = try await iterator.nextPicture(passes: passes) {
          state.update { if !Task.isCancelled { $0.picture = picture } }
          _ = try await state.first { $0.picture == nil && !$0.rests ? true : nil }
        }
        // One that is cancelled because encoding failed must not say that the preview has ended.
        if !Task.isCancelled { end(.success(())) }
      } catch {
        if !Task.isCancelled { end(.failure(error)) }
      }
      return iterator
    }
  }
}
