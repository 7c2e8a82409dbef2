// Views as H.264 for clients of the service. Equal views share an encoder, and each stream ends with its
// grant.
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
    /// The last logged reason for encoding, for each view (`CAMERA/VIEW`).
    var reasons: [String: String] = [:]
  }

  /// The subject of an encoding: a served view, or a view with a URL's parameters.
  private struct SourceKey: Hashable {
    let target: ObjectIdentifier
    let view: ViewConfiguration?
    let configuration: VideoConfiguration
    /// Whether it moves with the served view, or with that of a lower rendition's source.
    let follows: Bool
    /// The configuration that a lower rendition derives from; nil for other encodings.
    var base: PreviewConfiguration?
  }

  private struct WeakSource {
    weak var source: VideoSource?
  }

  private struct WeakStream {
    weak var stream: VideoStream?
  }

  let control: BitrateControl
  let rendition: VideoRendition

  /// `gate` limits the views that are drawn or encoded only for URLs and slow clients.
  init(
    _ registry: CameraRegistry, gate: AdmissionLimit, counting counters: VideoCounters, logger: Logger,
    control: BitrateControl = BitrateControl(), rendition: VideoRendition = VideoRendition()
  ) {
    self.control = control
    self.rendition = rendition
    self.registry = registry
    self.gate = gate
    self.counters = counters
    self.logger = logger
  }

  /// Begins to watch a view, as served or with changed parameters; ends when the stream is released. A stream
  /// with `inBatches` is read in batches by `nextSamples`, about twice a second. When a view has ended,
  /// `next` finds the one with which the stream continues.
  ///
  /// - Throws: `Problem`: 503 or 429 if too many views are drawn and encoded for URLs, 409 if the view is
  ///   switched off.
  package func begin(
    _ request: VideoRequest, inBatches readsInBatches: Bool = false, next: VideoStream.Next? = nil
  ) throws -> VideoStream {
    let stream = VideoStream(try shown(request), self, readsInBatches: readsInBatches, next: next)
    try state.withLock { state in
      guard !state.isOver else { throw Self.isEnding }
      state.streams.removeAll { $0.stream == nil }
      state.streams.append(WeakStream(stream: stream))
    }
    return stream
  }

  /// Begins to watch a view. `passes` says whether a camera's original H.264 may be passed through.
  package func begin(
    _ target: ServedPreview, as wanted: ServedView, _ configuration: VideoConfiguration, passes: Bool = true,
    inBatches readsInBatches: Bool = false
  ) throws -> VideoStream {
    try begin(
      VideoRequest(target, as: wanted, configuration, passes: passes), inBatches: readsInBatches)
  }

  /// Returns the source for a request, and the grant to show it.
  func shown(_ request: VideoRequest) throws -> ShownVideo {
    let (target, wanted, configuration) = (request.target, request.wanted, request.configuration)
    let isServed = target.serves(wanted)
    let grant = try registry.grants.grant(ViewRight(target, isServed: isServed))
    return try state.withLock { state in
      guard !state.isOver else { throw Self.isEnding }
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: isServed ? nil : wanted.subject,
        configuration: configuration, follows: !wanted.setsPose)
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
    try registry.checkGPU()
    let preview = try registry.makeAdHocPreview(
      wanted.view, of: target, following: wanted.setsPose ? nil : target.preview)
    return VideoSource(target, preview, configuration, holding: permit) { [session = registry.session] in
      session.remove(preview)
    }
  }

  /// Returns the lower rendition of a source: half its size at half its rate, with a quarter of its bit rate.
  /// All clients of a source share it.
  ///
  /// - Returns: the rendition, and a grant that ends when the view changes; nil for scenes, small pictures
  ///   and cameras of other nodes.
  /// - Throws: the errors of `begin`.
  func lower(
    _ source: VideoSource, _ standing: VideoWatch.Standing
  ) throws -> (VideoSource, Grant<ViewRight>)? {
    guard source.target.remoteView == nil else { return nil }
    let target = try registry.view(source.target.name, of: source.target.camera)
    let grant = try registry.grants.grant(ViewRight(target, source.isServed ? .copied : .withParameters))
    return try state.withLock { state in
      let base = source.preview.configuration
      guard let size = standing.size, let half = base.view?.halved(from: size) else { return nil }
      var configuration = source.configuration
      configuration.bitrate = configuration.bitrate(for: size) / 4
      let key = SourceKey(
        target: ObjectIdentifier(target.preview), view: half.unposed, configuration: configuration,
        follows: true, base: base.unposed)
      if let known = state.sources[key]?.source { return (known, grant) }
      let permit = try gate.enter()
      let preview = try registry.makeAdHocPreview(half, of: target, following: source.preview)
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

  /// Ends all streams at shutdown, because they do not end by themselves.
  package func run() async {
    try? await gracefulShutdown()
    state.withLock { $0.isOver = true }
    // Recorders read the remaining samples, and end their streams themselves.
    for stream in all where !stream.readsInBatches { stream.end() }
  }

  /// Returns the number of clients of a view, without recorders.
  package func clientCount(of camera: String, _ view: String) -> Int {
    streams(of: camera, view).reduce(0) { $0 + ($1.readsInBatches ? 0 : $1.clients) }
  }

  /// Returns the number of clients and recorders of a preview.
  func clientCount(of preview: Preview) -> Int {
    all.reduce(0) { $0 + ($1.source.preview === preview ? $1.clients : 0) }
  }

  /// Returns the number of a view's clients that get a lower rendition.
  func reducedCount(of camera: String, _ view: String) -> Int {
    streams(of: camera, view).reduce(0) { $0 + ($1.isReduced ? $1.clients : 0) }
  }

  private func streams(of camera: String, _ view: String) -> [VideoStream] {
    all.filter { $0.source.target.camera == camera && $0.source.target.name == view }
  }

  /// Logs the reason why a served view is encoded, once for each view and reason.
  func logEncoding(of source: VideoSource) async {
    let target = source.target
    guard source.isServed else { return }
    let mode: SourceStatus.Mode? =
      if let camera = registry.served[camera: target.camera] {
        await registry.session[camera.source]?.status?.mode
      } else { nil }
    guard let reason = target.preview.videoRefusal(source.configuration, from: mode) else { return }
    let known = state.withLock { $0.reasons.updateValue(reason, forKey: "\(target.camera)/\(target.name)") }
    guard known != reason else { return }
    logger.info(
      "H.264 encoded, not passed through",
      metadata: ["camera": "\(target.camera)", "view": "\(target.name)", "reason": "\(reason)"])
  }

  private var all: [VideoStream] { state.withLock { $0.streams.compactMap(\.stream) } }
}
