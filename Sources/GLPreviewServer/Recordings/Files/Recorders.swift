// Runs a recorder for each camera that is to be recorded, and follows changes of the configuration.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

package final class Recorders: Service, CustomStringConvertible {
  private let registry: CameraRegistry
  private let videos: VideoStreams
  let folder: RecordingFolder
  private let events: ServiceEvents
  private let logger: Logger
  /// By the names of the cameras' sources, so that a replaced camera gets a new recorder; nil once the
  /// service ends.
  private let running = Mutex<[Key: Running]?>([:])

  private struct Key: Hashable {
    let source: String
    let configuration: RecordingConfiguration
    let view: String
    let video: VideoConfiguration
    /// The view with its lens, and its changes so far: each starts a new recorder, whose files say what they show. Moves
    /// do not: the place of anything in a view through a lens is unknown.
    let shown: ViewConfiguration
    let subject: PreviewSubject
    let isLocked: Bool

    init?(_ camera: ServedCamera) {
      let record = camera.configuration.record
      let view = camera.views.first { record.view == nil || $0.name == record.view }
      guard record.when != .never, let view else { return nil }
      (source, configuration) = (camera.source, record)
      (self.view, video) = (view.name, view.served.video)
      isLocked = view.served.isLocked
      let lensed = view.served.view.withLens(camera.configuration.options.lens)
      shown = isLocked ? lensed : lensed.unposed
      subject = view.preview.subject
    }
  }

  /// Tasks of recorders that are ending.
  private let ending = Mutex<[Task<Void, Never>]>([])

  private struct Running {
    let recorder: Recorder
    let task: Task<Void, Never>
  }

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
  var count: Int { running.withLock { $0?.values.count { $0.recorder.isRecording } ?? 0 } }

  /// Whether a camera is being recorded now.
  func isRecording(_ camera: String) -> Bool {
    running.withLock {
      $0?.values.contains { $0.recorder.camera == camera && $0.recorder.isRecording } ?? false
    }
  }

  /// Reports a trigger at a camera that lasts until `end`.
  ///
  /// - Returns: whether the camera is recorded at triggers.
  func trigger(_ camera: String, until end: CaptureInstant) -> Bool {
    let when = registry.served[camera: camera]?.configuration.record.when ?? .never
    guard [.motion, .trigger].contains(when) else { return false }
    return withRecorder(of: camera) { $0.trigger(until: end) }
  }

  /// Reports a change of a camera's motion.
  package func motionChanged(_ camera: String, _ change: MotionEpisodes.Change) {
    guard registry.served[camera: camera]?.configuration.record.when == .motion else { return }
    switch change {
    case .started, .updated: withRecorder(of: camera) { $0.moves(true) }
    case .ended: withRecorder(of: camera) { $0.moves(false) }
    case .sceneChanged: break
    }
  }

  /// Logs that earlier recordings show what the masks hide now, if a reload has changed masks.
  func masksChanged(from before: [CameraConfiguration], to now: [CameraConfiguration]) {
    for camera in now {
      guard let old = before.first(where: { $0.name == camera.name }),
        old.options.masks != camera.options.masks
      else { continue }
      let count = folder.count(of: camera.name)
      guard count > 0 else { continue }
      logger.notice(
        "recordings from before a change of masks kept",
        metadata: ["camera": "\(camera.name)", "recordings": "\(count)"])
    }
  }

  /// Ends the triggers of a camera now.
  func stop(_ camera: String) { withRecorder(of: camera) { $0.stop() } }

  /// Calls `body` with the recorder of a camera as it is served now: a recorder from before a reload still
  /// buffers pictures that the new configuration may hide.
  ///
  /// - Returns: whether there is a recorder.
  @discardableResult
  private func withRecorder(of camera: String, _ body: (Recorder) -> Void) -> Bool {
    running.withLock { running in
      follow(&running)
      guard let one = running?.values.first(where: { $0.recorder.camera == camera }) else { return false }
      body(one.recorder)
      return true
    }
  }

  /// Runs the recorders that are configured. Ends all files when the service ends.
  package func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      while !Task.isCancelled {
        let known = registry.served.changes
        running.withLock { follow(&$0) }
        _ = try? await registry.served(after: known)
      }
    }
    let ones = running.withLock { running in
      defer { running = nil }
      return running.map { Array($0.values) } ?? []
    }
    for one in ones { one.recorder.end() }
    for task in ones.map(\.task) + ending.withLock({ $0 }) { await task.value }
    await folder.flushInTime()
  }

  /// Ends and starts recorders, to match the cameras that are served now.
  private func follow(_ known: inout [Key: Running]?) {
    guard var running = known else { return }
    defer { known = running }
    let wanted = registry.cameras.compactMap { camera in Key(camera).map { (camera.configuration.name, $0) } }
    let keys = Set(wanted.map(\.1))
    let gone = running.filter { !keys.contains($0.key) }
    for (key, one) in gone {
      one.recorder.end()
      running[key] = nil
      ending.withLock { $0.append(one.task) }
      Task { [self] in
        await one.task.value
        ending.withLock { $0.removeAll { $0 == one.task } }
      }
    }
    for (name, key) in wanted where running[key] == nil {
      let before = gone.values.first { $0.recorder.camera == name }?.recorder
      running[key] = start(name, key, continuing: before)
    }
  }

  private func start(_ name: String, _ key: Key, continuing before: Recorder?) -> Running {
    let view = key.view
    let recorder = Recorder(
      name, view, key.configuration, folder, within: registry.budget, continuing: before, logger: logger,
      note: { [registry] in Self.note(of: key, $0, registry.served[camera: name]) },
      isCurrent: { [registry] in registry.served[camera: name].flatMap(Key.init) == key },
      onChange: { [events] in events.recorded($0) },
      open: { [registry, videos] in
        let target = try registry.view(view, of: name)
        return try videos.begin(target, as: target.served, target.served.video, inBatches: true)
      })
    return Running(recorder: recorder, task: Task { await recorder.run() })
  }

  /// Describes what is recorded in a format, as the camera is served now.
  private static func note(of key: Key, _ format: H264Format, _ camera: ServedCamera?) -> RecordingNote {
    var note = RecordingNote(locked: key.isLocked ? Recording.LockedView(key.shown) : nil)
    guard let camera, Key(camera) == key,
      let preview = camera.views.first(where: { $0.name == key.view })?.preview
    else { return note }
    note.masks = camera.configuration.options.masks
    // A camera's own H.264 is recorded without decoding: the size of its pictures may be known from there only.
    let reference = preview.reference ?? (key.shown.isWhole ? format.size : nil)
    let geometry = reference.flatMap { ViewGeometry(of: key.shown, in: $0) }
    // Frames of another size have other pixels than those in which the geometry is.
    let isOfReference = preview.frameSize == nil || preview.frameSize == reference
    note.geometry = isOfReference && geometry?.size == format.size ? geometry : nil
    if note.geometry == nil { note.reference = reference }
    // Without a reference size it is unknown where the masks of a warped view were.
    if reference == nil, key.shown.isWarped { note.masks = nil }
    return note
  }
}
