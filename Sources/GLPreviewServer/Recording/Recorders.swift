// The recorders of all cameras that are to be recorded, as the configuration changes.
internal import GLPreview
internal import Logging
internal import PreviewCore
internal import ServiceLifecycle
internal import Synchronization

final class Recorders: Service, CustomStringConvertible {
  /// The name in logs, without the content.
  var description: String { "Recorders" }

  private let registry: CameraRegistry
  private let videos: VideoStreams
  let folder: RecordingFolder
  private let events: ServiceEvents
  private let logger: Logger
  /// By the names of the cameras' sources, so that a replaced camera starts anew.
  private let running = Mutex<[Key: Running]>([:])

  private struct Key: Hashable {
    let source: String
    let configuration: RecordingConfiguration
  }

  private struct Running {
    let recorder: Recorder
    let task: Task<Void, Never>
  }

  private static let looksEvery = Duration.milliseconds(250)

  init(
    _ registry: CameraRegistry, _ videos: VideoStreams, _ folder: RecordingFolder, _ events: ServiceEvents,
    logger: Logger
  ) {
    self.registry = registry
    self.videos = videos
    self.folder = folder
    self.events = events
    self.logger = logger
  }

  /// How many cameras are being recorded now.
  var count: Int { running.withLock { $0.values.count { $0.recorder.isRecording } } }

  /// Whether a camera is being recorded now.
  func isRecording(_ camera: String) -> Bool { recorder(of: camera)?.isRecording ?? false }

  /// Something happens at a camera until `end`.
  ///
  /// - Returns: whether the camera is recorded at triggers.
  func trigger(_ camera: String, until end: CaptureInstant) -> Bool {
    let when = registry.served[camera: camera]?.configuration.record.when ?? .never
    guard [.motion, .trigger].contains(when), let recorder = recorder(of: camera) else { return false }
    recorder.trigger(until: end)
    return true
  }

  /// What moves before a camera has changed.
  func motionChanged(_ camera: String, _ news: MotionEpisodes.News) {
    guard registry.served[camera: camera]?.configuration.record.when == .motion else { return }
    switch news {
    case .started, .updated: recorder(of: camera)?.moves(true)
    case .ended: recorder(of: camera)?.moves(false)
    case .sceneChanged: break
    }
  }

  /// Triggers of a camera end now.
  func stop(_ camera: String) { recorder(of: camera)?.stop() }

  private func recorder(of camera: String) -> Recorder? {
    running.withLock { $0.values.first { $0.recorder.camera == camera }?.recorder }
  }

  /// Keeps the recorders as they are configured; ends all files when the service ends.
  func run() async throws {
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      follow()
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.looksEvery) }
    }
    let tasks = running.withLock { running in
      defer { running = [:] }
      return running.values.map(\.task)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    await folder.flush()
  }

  private func follow() {
    let wanted = registry.cameras.filter { $0.configuration.record.when != .never }
    let keys = Set(wanted.map { Key(source: $0.source, configuration: $0.configuration.record) })
    running.withLock { running in
      for (key, one) in running where !keys.contains(key) {
        one.task.cancel()
        running[key] = nil
      }
      for camera in wanted {
        let key = Key(source: camera.source, configuration: camera.configuration.record)
        if running[key] == nil { running[key] = start(camera.configuration) }
      }
    }
  }

  private func start(_ camera: CameraConfiguration) -> Running {
    let (name, view) = (camera.name, camera.record.view ?? camera.views.first?.view.name ?? "")
    let recorder = Recorder(
      name, view, camera.record, folder, logger: logger,
      onChange: { [events] in events.recorded($0) },
      open: { [registry, videos] in
        let target = try registry.view(view, of: name)
        return try videos.begin(target, as: target.served, target.served.video)
      })
    return Running(recorder: recorder, task: Task { await recorder.run() })
  }
}
