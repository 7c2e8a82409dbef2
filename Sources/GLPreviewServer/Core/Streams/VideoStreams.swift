// Views as H.264 for clients of the service: equal ones share an encoder, and each ends by its grant.
internal import HTTPTypes
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

package final class VideoStreams: Service, CustomStringConvertible {
  private let registry: CameraRegistry
  private let gate: AdmissionLimit
  private let logger: Logger
  package let counters: VideoCounters
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

  let control: BitrateControl
  let rung: VideoRung

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

  /// Begins to watch a view, as served or with changed parameters; ends when the stream is released. A patient stream is read by
  /// `nextSamples` about twice a second. Where a view has ended, `next` says what the stream goes on with.
  ///
  /// - Throws: `Problem`: 503 or 429 if too much is drawn and encoded for URLs, 409 if the view is switched off.
  package func begin(
    _ request: VideoRequest, patiently isPatient: Bool = false, next: VideoStream.Next? = nil
  ) throws -> VideoStream {
    let stream = VideoStream(try shown(request), self, isPatient: isPatient, next: next)
    try state.withLock { state in
      guard !state.isOver else { throw Self.isEnding }
      state.streams.removeAll { $0.stream == nil }
      state.streams.append(WeakStream(stream: stream))
    }
    return stream
  }

  /// Begins to watch a view. `passes` says whether a camera's own H.264 will do.
  package func begin(
    _ target: ServedPreview, as wanted: ServedView, _ configuration: VideoConfiguration, passes: Bool = true,
    patiently isPatient: Bool = false
  ) throws -> VideoStream {
    try begin(
      VideoRequest(target, as: wanted, configuration, passes: passes), patiently: isPatient)
  }

  /// The right to show what a request asks for, and what makes it.
  func shown(_ request: VideoRequest) throws -> ShownVideo {
    let (target, wanted, configuration) = (request.target, request.wanted, request.configuration)
    let isServed = wanted.view == target.served.view
    let grant = try registry.grants.grant(ViewRight(target, isServed: isServed))
    return try state.withLock { state in
      guard !state.isOver else { throw Self.isEnding }
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: isServed ? nil : wanted.view,
        configuration: configuration)
      let source = try state.sources[key]?.source ?? makeSource(target, wanted, isServed, configuration)
      state.sources = state.sources.filter { $0.value.source != nil }
      state.sources[key] = WeakSource(source: source)
      return ShownVideo(source: source, grant: grant, passes: request.passes)
    }
  }

  private static let isEnding = Problem.busy(
    .serviceUnavailable, "the service is shutting down", retryAfter: 5)

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
  /// - Returns: with a grant that ends when the view changes; nil for scenes, small pictures and cameras of other nodes.
  /// - Throws: as `begin`.
  func lower(
    _ source: VideoSource, _ standing: VideoWatch.Standing
  ) throws -> (VideoSource, Grant<ViewRight>)? {
    guard source.target.guest == nil else { return nil }
    let target = try registry.view(source.target.name, of: source.target.camera)
    let grant = try registry.grants.grant(ViewRight(target, source.isServed ? .copied : .withParameters))
    return try state.withLock { state in
      let base = source.preview.configuration
      guard let size = standing.size, let half = base.view?.halved(from: size) else { return nil }
      var configuration = source.configuration
      configuration.bitrate = configuration.bitrate(for: size) / 4
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: half, configuration: configuration, base: base)
      if let known = state.sources[key]?.source { return (known, grant) }
      let permit = try gate.enter()
      let preview = try registry.makeAdHocPreview(half, of: target)
      preview.update {
        $0.keepsReferenceSize = base.keepsReferenceSize
        $0.updateEvery = max(base.updateEvery * 2, .seconds(2 / standing.picturesPerSecond))
      }
      let lower = VideoSource(target, preview, configuration, holding: permit) {
        [session = registry.session] in session.remove(preview)
      }
      state.sources[key] = WeakSource(source: lower)
      return (lower, grant)
    }
  }

  /// Ends all streams when the service ends: they have no end of their own.
  package func run() async {
    try? await gracefulShutdown()
    state.withLock { $0.isOver = true }
    // Recorders take what there is, and end theirs.
    for stream in all where !stream.isPatient { stream.end() }
  }

  /// The clients of a view. A recorder is none.
  package func clientCount(of camera: String, _ view: String) -> Int {
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
  func logEncoding(of source: VideoSource) async {
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
