// Views as H.264 for clients of the service: equal ones share an encoder, and each ends when what it shows must.
internal import GLPreview
internal import HTTPTypes
internal import ServiceLifecycle
internal import Synchronization

final class VideoStreams: Service, CustomStringConvertible {
  /// The name in logs, without the content.
  var description: String { "VideoStreams" }

  private let registry: CameraRegistry
  private let gate: AdmissionLimit
  let counters: VideoCounters
  private let state = Mutex(State())

  private struct State {
    var sources: [SourceKey: WeakSource] = [:]
    var streams: [WeakStream] = []
    var isOver = false
  }

  /// What is encoded: a served view, or what a URL makes of it.
  private struct SourceKey: Hashable {
    let target: ObjectIdentifier
    let view: ViewConfiguration?
    let configuration: VideoConfiguration
  }

  private struct WeakSource {
    weak var source: VideoSource?
  }

  private struct WeakStream {
    weak var stream: VideoStream?
  }

  /// `gate` limits what is drawn or encoded for URLs alone.
  init(_ registry: CameraRegistry, gate: AdmissionLimit, counting counters: VideoCounters) {
    self.registry = registry
    self.gate = gate
    self.counters = counters
  }

  /// Begins to watch a view, as served or with changed parameters; ends when the stream is released. With `passes`, a camera's
  /// own H.264 will do where the view shows just that: of any profile, and with key pictures only where the camera has them.
  ///
  /// - Throws: `Problem`: 503 or 429 if too much is drawn and encoded for URLs, 409 if the view is switched off.
  func begin(
    _ target: ServedPreview, as wanted: ServedView, _ configuration: VideoConfiguration, passes: Bool = true
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
      let stream = VideoStream(source, counters, passes: passes)
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

  /// Ends streams of views that were removed or switched off, and changed ones of views that are now locked.
  func followViews() {
    for stream in all where !registry.isShown(stream.source.target, isServed: stream.source.isServed) {
      stream.end()
    }
  }

  /// Ends all streams when the service ends: they have no end of their own.
  func run() async {
    try? await gracefulShutdown()
    state.withLock { $0.isOver = true }
    for stream in all { stream.end() }
  }

  /// The clients of a view.
  func clientCount(of camera: String, _ view: String) -> Int {
    all.count { $0.source.target.camera == camera && $0.source.target.name == view }
  }

  private var all: [VideoStream] { state.withLock { $0.streams.compactMap(\.stream) } }
}

/// What several streams show.
private final class VideoSource: Sendable {
  let target: ServedPreview
  let preview: Preview
  let configuration: VideoConfiguration
  private let permit: AdmissionPermit?
  private let onEnd: (@Sendable () -> Void)?

  var isServed: Bool { preview === target.preview }

  init(
    _ target: ServedPreview, _ preview: Preview, _ configuration: VideoConfiguration,
    holding permit: AdmissionPermit?, onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.target = target
    self.preview = preview
    self.configuration = configuration
    self.permit = permit
    self.onEnd = onEnd
  }

  deinit { onEnd?() }
}

/// A client's pictures.
final class VideoStream: Sendable {
  fileprivate let source: VideoSource
  private let watch: VideoWatch

  fileprivate init(_ source: VideoSource, _ counters: VideoCounters, passes: Bool) {
    self.source = source
    watch = source.preview.watchVideo(source.configuration, passes: passes, counting: counters)
  }

  /// Waits for the next picture; nil at the end. One that is not asked for in time is left out, and those after it up to
  /// the next key picture.
  func next() async throws -> VideoSample? { try await watch.next() }

  func end() { watch.end() }
}
