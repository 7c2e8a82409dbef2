// Views as H.264 for clients of the service: equal ones share an encoder, and each ends when what it shows must.
internal import GLPreview
internal import HTTPTypes
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

final class VideoStreams: Service, CustomStringConvertible {
  private let registry: CameraRegistry
  private let gate: AdmissionLimit
  private let logger: Logger
  let counters: VideoCounters
  private let state = Mutex(State())

  private struct State {
    var sources: [SourceKey: WeakSource] = [:]
    var streams: [WeakStream] = []
    var isOver = false
    /// The last reason that the log has for each view (`CAMERA/VIEW`) that is encoded.
    var reasons: [String: String] = [:]
  }

  /// What is encoded: a served view, or what a URL makes of it.
  private struct SourceKey: Hashable {
    let target: ObjectIdentifier
    let view: ViewConfiguration?
    let configuration: VideoConfiguration
    /// Of a rung below: what it is made from.
    var base: PreviewConfiguration?
  }

  private struct WeakSource {
    weak var source: VideoSource?
  }

  private struct WeakStream {
    weak var stream: VideoStream?
  }

  fileprivate let control: BitrateControl
  fileprivate let rung: VideoRung

  /// `gate` limits what is drawn or encoded for URLs and slow clients alone.
  init(
    _ registry: CameraRegistry, gate: AdmissionLimit, counting counters: VideoCounters, logger: Logger,
    control: BitrateControl = BitrateControl(), rung: VideoRung = VideoRung()
  ) {
    self.control = control
    self.rung = rung
    self.registry = registry
    self.gate = gate
    self.counters = counters
    self.logger = logger
  }

  /// Begins to watch a view, as served or with changed parameters; ends when the stream is released. With `passes`, a camera's
  /// own H.264 will do where the view shows just that: of any profile, and with key pictures only where the camera has them. A
  /// patient stream is read by `nextSamples` about twice a second.
  ///
  /// - Throws: `Problem`: 503 or 429 if too much is drawn and encoded for URLs, 409 if the view is switched off.
  func begin(
    _ target: ServedPreview, as wanted: ServedView, _ configuration: VideoConfiguration, passes: Bool = true,
    patiently isPatient: Bool = false
  ) throws -> VideoStream {
    let isServed = wanted.view == target.served.view
    return try state.withLock { state in
      // Under the lock, so that `followViews()` finds streams of views that are switched off from here on.
      try registry.check(target, isServed: isServed)
      guard !state.isOver else {
        throw Problem.busy(.serviceUnavailable, "the service is shutting down", retryAfter: 5)
      }
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: isServed ? nil : wanted.view,
        configuration: configuration)
      let source = try state.sources[key]?.source ?? makeSource(target, wanted, isServed, configuration)
      let stream = VideoStream(source, self, passes: passes, isPatient: isPatient)
      state.sources = state.sources.filter { $0.value.source != nil }
      state.streams.removeAll { $0.stream == nil }
      state.sources[key] = WeakSource(source: source)
      state.streams.append(WeakStream(stream: stream))
      return stream
    }
  }

  private func makeSource(
    _ target: ServedPreview, _ wanted: ServedView, _ isServed: Bool, _ configuration: VideoConfiguration
  ) throws -> VideoSource {
    let isOwn = !isServed || configuration != target.served.video
    let permit = try isOwn ? gate.enter() : nil
    guard !isServed else { return VideoSource(target, target.preview, configuration, holding: permit) }
    let preview = try registry.makeAdHocPreview(wanted.view, of: target)
    return VideoSource(target, preview, configuration, holding: permit) { [session = registry.session] in
      session.remove(preview)
    }
  }

  /// The rung below a source: half its size at half its rate, with a quarter of its bit rate. Clients of a source share it.
  ///
  /// - Returns: nil for scenes, small pictures and cameras of other nodes.
  /// - Throws: as `begin`.
  fileprivate func lower(_ source: VideoSource, _ standing: VideoWatch.Standing) throws -> VideoSource? {
    try state.withLock { state -> VideoSource? in
      let (target, base) = (source.target, source.preview.configuration)
      guard target.guest == nil, let size = standing.size, let half = base.view?.halved(from: size) else {
        return nil
      }
      try registry.check(target, isServed: source.isServed)
      var configuration = source.configuration
      configuration.bitrate = configuration.bitrate(for: size) / 4
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: half, configuration: configuration, base: base)
      if let known = state.sources[key]?.source { return known }
      let permit = try gate.enter()
      let preview = try registry.makeAdHocPreview(half, of: target)
      preview.update {
        $0.keepsReferenceSize = base.keepsReferenceSize
        $0.updateEvery = max(base.updateEvery * 2, .seconds(2 / standing.picturesPerSecond))
      }
      let lower = VideoSource(target, preview, configuration, holding: permit, base: base) {
        [session = registry.session] in session.remove(preview)
      }
      state.sources[key] = WeakSource(source: lower)
      return lower
    }
  }

  /// Ends streams of views that were removed or switched off, and changed ones of views that are now locked. What clients
  /// watch in place of a view that has changed is given up.
  func followViews() {
    for stream in all {
      if registry.isShown(stream.source.target, isServed: stream.source.isServed) {
        stream.followView()
      } else {
        stream.end()
      }
    }
  }

  /// Ends all streams when the service ends: they have no end of their own.
  func run() async {
    try? await gracefulShutdown()
    state.withLock { $0.isOver = true }
    // Recorders take what there is, and end theirs.
    for stream in all where !stream.isPatient { stream.end() }
  }

  /// The clients of a view. A recorder is none.
  func clientCount(of camera: String, _ view: String) -> Int {
    streams(of: camera, view).reduce(0) { $0 + ($1.isPatient ? 0 : $1.clients) }
  }

  /// The clients and recorders of what one preview shows.
  func clientCount(of preview: Preview) -> Int {
    all.reduce(0) { $0 + ($1.source.preview === preview ? $1.clients : 0) }
  }

  /// How many of them get the rung below.
  func reducedCount(of camera: String, _ view: String) -> Int {
    streams(of: camera, view).reduce(0) { $0 + ($1.isReduced ? $1.clients : 0) }
  }

  private func streams(of camera: String, _ view: String) -> [VideoStream] {
    all.filter { $0.source.target.camera == camera && $0.source.target.name == view }
  }

  /// Logs why a served view is encoded, once for each view and reason.
  fileprivate func logEncoding(of source: VideoSource) async {
    let target = source.target
    guard source.isServed else { return }
    let mode: SourceStatus.Mode? =
      if let camera = registry.served[camera: target.camera] {
        await registry.session.status(of: camera.source)?.mode
      } else { nil }
    guard let reason = target.preview.videoRefusal(source.configuration, from: mode) else { return }
    let known = state.withLock { $0.reasons.updateValue(reason, forKey: "\(target.camera)/\(target.name)") }
    guard known != reason else { return }
    logger.info(
      "H.264 is encoded, not passed on",
      metadata: ["camera": "\(target.camera)", "view": "\(target.name)", "reason": "\(reason)"])
  }

  private var all: [VideoStream] { state.withLock { $0.streams.compactMap(\.stream) } }
}

/// A client's pictures. A client that can't follow the view gets the rung below for a while (`VideoRung`).
final class VideoStream: Sendable {
  fileprivate let source: VideoSource
  private let streams: VideoStreams
  private let passes: Bool
  fileprivate let isPatient: Bool
  private let state: Mutex<State>

  private struct State {
    var watch: VideoWatch
    /// What it watches in place of the source.
    var lower: VideoSource?
    var rung: VideoRung
    /// The time of the last picture.
    var last: CaptureInstant?
    var isEncoded = false
    var clients = 1
    var isOver = false
  }

  fileprivate init(_ source: VideoSource, _ streams: VideoStreams, passes: Bool, isPatient: Bool) {
    self.source = source
    self.streams = streams
    self.passes = passes
    self.isPatient = isPatient
    let watch = Self.watch(source, streams, passes: passes, isPatient: isPatient)
    state = Mutex(State(watch: watch, rung: streams.rung))
  }

  private static func watch(
    _ source: VideoSource, _ streams: VideoStreams, passes: Bool, isPatient: Bool = false
  ) -> VideoWatch {
    source.preview.watchVideo(
      source.configuration, passes: passes, patiently: isPatient, counting: streams.counters,
      control: streams.control)
  }

  /// Waits for all pictures since the last call, of a patient stream; none where the camera has stopped showing anything, nil
  /// at the end.
  func nextSamples() async throws -> [VideoSample]? {
    let samples = try await state.withLock { $0.watch }.nextSamples()
    let (isOver, beginsEncoding) = state.withLock { state in
      guard let last = samples?.last else { return (state.isOver, false) }
      defer { state.isEncoded = last.format.encoder != nil }
      return (state.isOver, passes && last.format.encoder != nil && !state.isEncoded)
    }
    if beginsEncoding { await streams.logEncoding(of: source) }
    return isOver ? nil : samples
  }

  /// Waits for the next picture; nil at the end. One that is not asked for in time is left out, and those after it up to
  /// the next key picture. Another size than before begins with a key picture.
  func next() async throws -> VideoSample? {
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
      let (isCurrent, next, beginsEncoding) = state.withLock { state -> (Bool, VideoSample?, Bool) in
        guard !state.isOver else { return (true, nil, false) }
        guard state.watch === watch else { return (false, nil, false) }
        let (was, isEncoded) = (state.isEncoded, sample?.format.encoder != nil)
        state.isEncoded = isEncoded
        // Two encoders have times of their own.
        let next = state.last.flatMap { sample?.later(than: $0) } ?? sample
        state.last = next?.timestamp ?? state.last
        return (true, next, passes && isEncoded && !was)
      }
      guard isCurrent else { continue }
      if beginsEncoding { await streams.logEncoding(of: source) }
      return next
    }
  }

  /// Pictures were lost on their way to the client: the next one is a key picture.
  func lost() { state.withLock { $0.watch }.lost() }

  /// A key picture comes soon; nothing is lost.
  func askForKey() { state.withLock { $0.watch }.askForKey() }

  /// Whether new watchers may get kept pictures, from the last key picture on.
  var showsPast: Bool { state.withLock { $0.watch }.showsPast }

  /// How many clients its pictures are for; 1 unless it is told otherwise.
  var clients: Int { state.withLock { $0.clients } }

  func stand(for clients: Int) {
    state.withLock { state in
      state.clients = clients
      state.watch.stand(for: clients)
    }
  }

  func end() {
    let watch = state.withLock { state in
      state.isOver = true
      return state.watch
    }
    watch.end()
  }

  // MARK: Rungs

  var isReduced: Bool { state.withLock { $0.lower != nil } }

  /// Gives up what is watched in place of a view that has changed.
  fileprivate func followView() {
    let base = state.withLock { $0.lower?.base }
    if let base, base != source.preview.configuration { watchSource { $0.forget() } }
  }

  private func choose(at now: CaptureInstant) {
    let standing = state.withLock { $0.watch }.standing(at: now)
    let move = state.withLock { state in
      state.rung.move(isLeftBehind: standing.isLeftBehind, lastDrop: standing.lastDrop, at: now)
    }
    switch move {
    case .up: watchSource { _ in }
    case .down:
      if let lower = try? streams.lower(source, standing) {
        replace(with: Self.watch(lower, streams, passes: false), lower) { _ in }
      } else {
        state.withLock { $0.rung.refuse(at: now) }
      }
    case nil: break
    }
    // It may have changed while the rung below was made.
    followView()
  }

  private func watchSource(_ change: (inout VideoRung) -> Void) {
    replace(with: Self.watch(source, streams, passes: passes), nil, change)
  }

  private func replace(with watch: VideoWatch, _ lower: VideoSource?, _ change: (inout VideoRung) -> Void) {
    let old = state.withLock { state -> (VideoWatch, VideoSource?) in
      defer { (state.watch, state.lower) = (watch, lower) }
      watch.stand(for: state.clients)
      change(&state.rung)
      return (state.watch, state.lower)
    }
    old.0.end()
    if state.withLock({ $0.isOver }) { watch.end() }
  }
}
