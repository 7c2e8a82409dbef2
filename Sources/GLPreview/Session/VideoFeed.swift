// The encoder of a preview: runs while somebody watches, and gives each watcher what it can take.
internal import PreviewCore
internal import Synchronization

/// The limits of a video.
struct VideoTimes: Sendable {
  /// How long the encoder stays open without a watcher.
  var linger = Duration.seconds(5)
  /// The least time between two key pictures for watchers who join, and for those who were too slow.
  var joining = Duration.milliseconds(300)
  var dropping = Duration.seconds(1)
  /// How much a watcher may leave unread.
  var unread = Duration.milliseconds(500)
  var unreadBytes = 8_000_000
  /// When a picture is repeated because nothing new comes.
  var repeats = Duration.seconds(1)
  /// When the bit rate that the watchers share goes down and up.
  var control = BitrateControl()
}

/// Encodes a preview's pictures in one configuration for all its watchers.
final class VideoFeed: Sendable {
  private let preview: Preview
  private let encoder: VideoEncoder
  private let times: VideoTimes
  private let counters: VideoCounters
  private let state: Watched<State>

  private struct Watcher {
    var unread: [VideoSample] = []
    var needsKey = true
    /// Whether the key picture that it needs is on its way. One that lost pictures asks for it when it reads again: who
    /// never does costs the others none.
    var isPromised = true

    /// Returns how many it loses.
    @discardableResult
    mutating func lose() -> Int {
      defer { (unread, needsKey, isPromised) = ([], true, false) }
      return unread.count
    }
  }

  private struct State {
    var watchers: [Int: Watcher] = [:]
    var control: BitrateControl
    var rate = PictureRate()
    var lastID = 0
    var keys: KeySchedule
    /// Read, but not encoded yet.
    var picture: RenderedPicture?
    /// The format of the last sample.
    var format: H264Format?
    /// Set when no more pictures come; nobody can join any more.
    var end: Result<Void, any Error>?

    /// Whether a watcher has lost pictures, and now reads again.
    func isLost(_ watcher: Int) -> Bool {
      watchers[watcher].map { $0.unread.isEmpty && !$0.isPromised } ?? false
    }

    /// Takes back what was not read yet.
    mutating func loseUnread() {
      for (id, watcher) in watchers where !watcher.unread.isEmpty { watchers[id]?.lose() }
    }

    mutating func askForKey(_ watcher: Int) {
      guard isLost(watcher) else { return }
      watchers[watcher]?.isPromised = true
      keys.drop()
      control.resumed(watcher, at: CaptureClock.now)
    }
  }

  private let configuration: VideoConfiguration

  init(
    _ preview: Preview, _ configuration: VideoConfiguration, _ encoder: VideoEncoder, _ times: VideoTimes,
    counting counters: VideoCounters
  ) {
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
  func join() -> Int? {
    state.update { state in
      guard state.end == nil else { return nil }
      state.lastID += 1
      state.watchers[state.lastID] = Watcher()
      state.keys.join()
      return state.lastID
    }
  }

  func leave(_ watcher: Int) {
    state.update {
      $0.watchers[watcher] = nil
      $0.control.left(watcher)
    }
  }

  /// A watcher has lost pictures after it had read them, on their way to whoever sees them: it goes on with a key picture.
  func lost(_ watcher: Int) {
    state.update { state in
      guard state.watchers[watcher] != nil else { return }
      state.watchers[watcher] = Watcher()
      state.keys.join()
      state.control.dropped(watcher, at: CaptureClock.now)
    }
  }

  /// A watcher would do with a key picture; nothing is lost.
  func askForKey() { state.update { $0.keys.join() } }

  func standing(of watcher: Int, at now: CaptureInstant) -> VideoWatch.Standing {
    state.withLock { state in
      VideoWatch.Standing(
        isLeftBehind: state.control.isLeftBehind(watcher, at: now),
        lastDrop: state.control.lastDrop(of: watcher), size: state.format?.size,
        picturesPerSecond: state.rate.picturesPerSecond)
    }
  }

  var watcherCount: Int { state.value.watchers.count }

  /// The format of the last sample; nil before the first.
  var format: H264Format? { state.value.format }

  /// The bit rate that is used for pictures of the format; nil before the first.
  var bitrate: Int? {
    state.withLock { state in
      state.format.map { Int(Double(configuration.bitrate(for: $0.size)) * state.control.factor) }
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
        return .some(state.watchers[watcher]?.unread.removeFirst())
      }
      if state.watchers[watcher] == nil { return .some(nil) }
      state.askForKey(watcher)
      guard let end = state.end else { return nil }
      try end.get()
      return .some(nil)
    }
    return next.flatMap { $0 }
  }

  private func deliver(_ sample: VideoSample, encodedAt now: CaptureInstant) {
    let times = times
    let (before, dropped) = state.update { state in
      defer { state.format = sample.format }
      var dropped = 0
      if sample.isKey { state.keys.came(at: now) }
      state.rate.saw(sample.timestamp)
      for (id, var watcher) in state.watchers {
        if let first = watcher.unread.first {
          let bytes = watcher.unread.reduce(sample.bytes.count) { $0 + $1.bytes.count }
          if sample.timestamp - first.timestamp > times.unread || bytes > times.unreadBytes {
            dropped += watcher.lose()
            state.control.dropped(id, at: now)
          }
        }
        if sample.isKey || !watcher.needsKey {
          (watcher.needsKey, watcher.isPromised) = (false, true)
          watcher.unread.append(sample)
        } else if !watcher.isPromised {
          dropped += 1
        }
        state.watchers[id] = watcher
      }
      state.control.adjust(watchers: state.watchers.count, at: now)
      return (state.format?.encoder, dropped)
    }
    counters.changed(from: before, to: sample.format.encoder)
    counters.count(sample, dropped: dropped)
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
    case picture(RenderedPicture)
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
      state.withLock { $0.picture = nil }
    }
    var (shown, encodedAt): (PictureKey?, CaptureInstant?)
    var sourceState = SourceState.live
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
      case .picture(let rendered):
        let isReplaced =
          shown.map { $0.version != rendered.key.version } ?? false || rendered.sourceState != sourceState
        let now = CaptureClock.now
        let (isKey, factor) = state.update { state in
          // Let the next one be read while this one is encoded.
          state.picture = nil
          // What was shown before a change of the view, or before its camera was switched off, is not shown after it.
          if isReplaced { state.loseUnread() }
          return (state.keys.asks(at: now), state.control.factor)
        }
        sourceState = rendered.sourceState
        let time =
          rendered.key == shown ? now : max(rendered.timestamp, now - times.repeats)
        let sample = try await encoder.encode(
          rendered.picture, at: time, isKey: isKey, bitrateFactor: factor)
        (shown, encodedAt) = (rendered.key, now)
        deliver(sample, encodedAt: now)
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
        while let picture = try await iterator.next() {
          state.update { if !Task.isCancelled { $0.picture = picture } }
          _ = try await state.first { $0.picture == nil ? true : nil }
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
