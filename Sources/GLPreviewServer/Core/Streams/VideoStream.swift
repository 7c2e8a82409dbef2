// A client's H.264: its current encoding of a view, and its continuation when the view's camera moves to
// another node.
internal import HTTPTypes
internal import Synchronization

/// The current source of a client's pictures, and the grant to show them.
struct ShownVideo: Sendable {
  let source: VideoSource
  let grant: Grant<ViewRight>
  let passes: Bool
}

/// A client's pictures. A client that can't keep up with the view gets a lower rendition for a while
/// (`VideoRendition`). When the view's camera moves to another node, the pictures continue from there.
package final class VideoStream: Sendable {
  /// Finds the view with which a stream continues, and begins it; returns false if there is none.
  package typealias Next =
    @Sendable (_ begin: @escaping @Sendable (VideoRequest) throws -> Void) async -> Bool

  private let streams: VideoStreams
  let readsInBatches: Bool
  private let nextView: Next?
  private let state: Mutex<State>

  private struct State {
    var shown: ShownVideo
    var watch: VideoWatch
    /// The lower rendition that it watches instead of the source, until the view changes.
    var lower: (source: VideoSource, grant: Grant<ViewRight>)?
    var rendition: VideoRendition
    /// The time of the last picture.
    var last: CaptureInstant?
    var isEncoded = false
    var clients = 1
    /// The number of times that it continued with another view.
    var moves = 0
    /// The task that looks for the next view.
    var finding: Task<Void, Never>?
    var isOver = false

    /// Returns whether `sample` is the first encoded one where the camera's original could have been passed
    /// through.
    mutating func takes(_ sample: VideoSample?) -> Bool {
      let was = isEncoded
      isEncoded = sample?.format.encoder != nil
      return shown.passes && isEncoded && !was
    }
  }

  init(_ shown: ShownVideo, _ streams: VideoStreams, readsInBatches: Bool, next: Next?) {
    (self.streams, self.readsInBatches, nextView) = (streams, readsInBatches, next)
    let watch = Self.watch(shown, streams, readsInBatches: readsInBatches)
    state = Mutex(State(shown: shown, watch: watch, rendition: streams.rendition))
    follow(shown.grant)
  }

  var source: VideoSource { state.withLock { $0.shown.source } }

  private static func watch(_ shown: ShownVideo, _ streams: VideoStreams, readsInBatches: Bool) -> VideoWatch
  {
    shown.source.preview.watchVideo(
      shown.source.configuration, passes: shown.passes, inBatches: readsInBatches, counting: streams.counters,
      control: streams.control)
  }

  /// Ends the current watch when its grant is revoked.
  private func follow(_ grant: Grant<ViewRight>) {
    grant.whenRevoked { [weak self, weak grant] in
      self?.state.withLock { $0.shown.grant === grant ? $0.watch : nil }?.end()
    }
  }

  /// The reason why the view may no longer be shown; nil while it may.
  package var revocation: Problem? {
    let grant = state.withLock { $0.shown.grant }
    do throws(Problem) { try grant.check() } catch { return error }
    return nil
  }

  /// The number of times that it continued with another view.
  package var moves: Int { state.withLock { $0.moves } }

  /// Waits for all samples since the last call; for a stream that is read in batches. Empty if the camera has
  /// stopped delivering; nil at the end.
  package func nextSamples() async throws -> [VideoSample]? {
    let samples = try await state.withLock { $0.watch }.nextSamples()
    let (ends, beginsEncoding) = state.withLock { state in
      let ends = state.isOver || !state.shown.grant.isValid
      guard !ends, let last = samples?.last else { return (ends, false) }
      return (false, state.takes(last))
    }
    if beginsEncoding { await streams.logEncoding(of: source) }
    return ends ? nil : samples
  }

  /// Waits for the next sample; nil at the end. A sample that is not read in time is skipped, with those
  /// after it up to the next keyframe. A change of the size begins with a keyframe.
  package func next() async throws -> VideoSample? {
    while true {
      choose(at: CaptureClock.now)
      let (watch, isLower) = state.withLock { ($0.watch, $0.lower != nil) }
      let sample: VideoSample?
      do {
        sample = try await watch.next()
      } catch let error where isLower && (error is VideoError || error.isOutOfMemory) {
        watchSource { $0.refuse(at: CaptureClock.now) }
        continue
      }
      let (step, next, beginsEncoding) = state.withLock { state -> (Step, VideoSample?, Bool) in
        guard !state.isOver else { return (.end, nil, false) }
        guard state.watch === watch else { return (.again, nil, false) }
        guard state.shown.grant.isValid else { return (.move, nil, false) }
        let begins = state.takes(sample)
        // Two encoders have independent timestamps.
        let next = state.last.flatMap { sample?.later(than: $0) } ?? sample
        state.last = next?.timestamp ?? state.last
        return (.give, next, begins)
      }
      switch step {
      case .again: continue
      case .move: guard await move() else { return nil }
      case .end, .give:
        if beginsEncoding { await streams.logEncoding(of: source) }
        return next
      }
    }
  }

  private enum Step { case give, again, move, end }

  /// Continues with the next view; returns false if there is none.
  private func move() async -> Bool {
    guard let find = nextView else {
      end()
      return false
    }
    let finding = Task { [self] in
      let isFound = await find { [self] request in adopt(try streams.shown(request)) }
      if !isFound { end() }
    }
    let isOver = state.withLock { state in
      state.finding = finding
      return state.isOver
    }
    if isOver { finding.cancel() }
    await withTaskCancellationHandler {
      await finding.value
    } onCancel: {
      finding.cancel()
    }
    return state.withLock { state in
      state.finding = nil
      return !state.isOver
    }
  }

  private func adopt(_ shown: ShownVideo) {
    let watch = Self.watch(shown, streams, readsInBatches: readsInBatches)
    replace(with: watch, nil) { state in
      (state.shown, state.isEncoded) = (shown, false)
      state.moves += 1
      state.rendition.reset()
    }
    follow(shown.grant)
  }

  /// Reports that pictures were lost on the way to the client, so that the next one is a keyframe.
  package func lost() { state.withLock { $0.watch }.lost() }

  /// Requests a keyframe soon, although nothing was lost.
  package func requestKeyframe() { state.withLock { $0.watch }.requestKeyframe() }

  /// Whether new watchers may get buffered pictures, from the last keyframe on.
  package var showsPast: Bool {
    let (watch, grant) = state.withLock { ($0.watch, $0.shown.grant) }
    return grant.isValid && watch.showsPast
  }

  /// The number of clients that receive its pictures. Default: 1.
  var clients: Int { state.withLock { $0.clients } }

  package func setClients(_ count: Int) {
    state.withLock { state in
      state.clients = count
      state.watch.setClients(count)
    }
  }

  package func end() {
    let (watch, finding) = state.withLock { state in
      state.isOver = true
      return (state.watch, state.finding)
    }
    watch.end()
    finding?.cancel()
  }

  // MARK: Renditions

  package var isReduced: Bool { state.withLock { $0.lower != nil } }

  private func choose(at now: CaptureInstant) {
    let standing = state.withLock { $0.watch }.standing(at: now)
    let move = state.withLock { state in
      state.rendition.move(isLeftBehind: standing.isLeftBehind, lastDrop: standing.lastDrop, at: now)
    }
    switch move {
    case .up: watchSource { _ in }
    case .down:
      if let (lower, grant) = try? streams.lower(source, standing) {
        let shown = ShownVideo(source: lower, grant: grant, passes: false)
        replace(with: Self.watch(shown, streams, readsInBatches: false), (lower, grant)) { _ in }
        grant.whenRevoked { [weak self] in self?.watchSource { $0.reset() } }
      } else {
        state.withLock { $0.rendition.refuse(at: now) }
      }
    case nil: break
    }
  }

  private func watchSource(_ change: (inout VideoRendition) -> Void) {
    let shown = state.withLock { $0.shown }
    replace(with: Self.watch(shown, streams, readsInBatches: readsInBatches), nil) { change(&$0.rendition) }
  }

  private func replace(
    with watch: VideoWatch, _ lower: (VideoSource, Grant<ViewRight>)?, _ change: (inout State) -> Void
  ) {
    let old = state.withLock { state -> (VideoWatch, (VideoSource, Grant<ViewRight>)?) in
      defer { (state.watch, state.lower) = (watch, lower) }
      watch.setClients(state.clients)
      change(&state)
      return (state.watch, state.lower)
    }
    old.0.end()
    if state.withLock({ $0.isOver || !$0.shown.grant.isValid }) { watch.end() }
  }
}
