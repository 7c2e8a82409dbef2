// Watches cameras for motion: reads a tiny view of each at a few pictures a second.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The motion at the cameras that are served. A camera with `motion` stays open.
final class MotionWatch: Service {
  private let registry: CameraRegistry
  private let logger: Logger
  private let onChange: @Sendable (String, MotionEpisodes.Change) -> Void
  let pictures: MotionPictures
  /// By the names of the cameras' sources, so that a replaced camera starts from the beginning.
  private let state = Mutex<[String: WatchedMotion]>([:])
  /// Counts the events that begin and the changes of the served cameras.
  private let wakes = Watched(0)

  private static let interval = Duration.milliseconds(250)
  /// The pause before a camera is read again after an error, or after its pictures have ended.
  private static let pause = Duration.seconds(1)

  init(
    _ registry: CameraRegistry, logger: Logger,
    onChange: @escaping @Sendable (_ camera: String, MotionEpisodes.Change) -> Void
  ) {
    (self.registry, self.logger, self.onChange) = (registry, logger, onChange)
    pictures = MotionPictures(registry, logger: logger)
  }

  /// The known motion of a camera; nil if it is not watched and nothing was reported from outside.
  subscript(camera: ServedCamera) -> WatchedMotion? { state.withLock { $0[camera.source] } }

  /// `motion` of a camera in `/api/cameras`; nil like the subscript.
  func json(of camera: ServedCamera) -> [String: JSONValue]? {
    self[camera]?.json(showsAll: camera.showsAll) { [pictures] in pictures.hasPicture(of: $0, camera) }
  }

  // MARK: Reports from outside

  /// Reports motion at a camera for a time.
  func trigger(_ label: String?, for duration: Duration, before camera: ServedCamera) -> WatchedMotion {
    update(camera) { $0.trigger(label, for: duration, at: CaptureClock.now) }
  }

  /// Reports the end of that motion.
  func release(_ camera: ServedCamera) -> WatchedMotion {
    update(camera) { $0.release(at: CaptureClock.now) }
  }

  /// Judges a camera by other settings until its configuration changes; by the configured ones if they are
  /// nil.
  ///
  /// `settings` gets the known motion, which nothing else changes meanwhile. Nothing changes if it throws.
  func change<Failure: Error>(
    _ camera: ServedCamera, to settings: (WatchedMotion) throws(Failure) -> MotionSettings?
  ) throws(Failure) -> WatchedMotion {
    try update(camera) { (motion) throws(Failure) in
      motion.change(try settings(motion), views: camera.configuration.zoneViews)
      return []
    }
  }

  @discardableResult
  private func update<Failure: Error>(
    _ camera: ServedCamera, _ change: (inout WatchedMotion) throws(Failure) -> [MotionEpisodes.Change]
  ) throws(Failure) -> WatchedMotion {
    let (motion, changes) = try state.withLock { (state) throws(Failure) in
      var motion = state[camera.source] ?? WatchedMotion(camera.configuration)
      let changes = try change(&motion)
      state[camera.source] = motion
      return (motion, changes)
    }
    for one in changes {
      switch one {
      case .started(let event), .updated(let event):
        pictures.take(event, of: camera)
        wakes.update { $0 += 1 }
      case .ended, .sceneChanged: break
      }
      onChange(motion.camera, one)
    }
    return motion
  }

  // MARK: Watching

  func run() async throws { await cancelWhenGracefulShutdown { [self] in await watch() } }

  private func watch() async {
    var readers: [String: Task<Void, Never>] = [:]
    let first = registry.served.changes
    let changes = Task {
      var known = first
      while let served = try? await registry.served(after: known) {
        known = served.changes
        wakes.update { $0 += 1 }
      }
    }
    defer { changes.cancel() }
    while !Task.isCancelled {
      let wake = wakes.value
      let cameras = registry.cameras
      for source in renewed(cameras) {
        readers.removeValue(forKey: source)?.cancel()
        guard let camera = cameras.first(where: { $0.source == source }),
          let settings = camera.configuration.motion
        else { continue }
        readers[source] = Task { await self.read(camera, settings) }
      }
      pictures.keep(cameras)
      let current = cameras.filter { self[$0]?.episodes.current != nil }
      for camera in current { update(camera) { $0.passed(to: CaptureClock.now) } }
      // Events end by time, so this wakes regularly while there is one.
      let next = current.isEmpty ? nil : CaptureClock.next(multipleOf: Self.interval)
      _ = try? await wakes.first(until: next) { $0 == wake ? nil : true }
    }
    for reader in readers.values { reader.cancel() }
    for reader in readers.values { await reader.value }
    // Sends motion-ended for every open event.
    for (camera, change) in endAll() { onChange(camera, change) }
  }

  private func endAll() -> [(String, MotionEpisodes.Change)] {
    state.withLock { state in
      state.keys.flatMap { source in
        (state[source]?.end() ?? []).map { (state[source]?.camera ?? "", $0) }
      }
    }
  }

  /// Forgets cameras that were removed, and starts again with those that are new or have other settings.
  ///
  /// - Returns: the sources of all these cameras.
  private func renewed(_ cameras: [ServedCamera]) -> Set<String> {
    let (renewed, ended) = state.withLock { state in
      let sources = Dictionary(cameras.map { ($0.source, $0.configuration) }) { $1 }
      var renewed: Set<String> = []
      var ended: [(String, MotionEpisodes.Change)] = []
      for (source, known) in state where sources[source].map(known.isOf) != true {
        renewed.insert(source)
        ended += state[source]?.end().map { (known.camera, $0) } ?? []
        state[source] = nil
      }
      for (source, configuration) in sources where configuration.motion != nil && state[source] == nil {
        renewed.insert(source)
        state[source] = WatchedMotion(configuration)
      }
      return (renewed, ended)
    }
    for (camera, change) in ended { onChange(camera, change) }
    return renewed
  }

  /// Reads a camera until the task is cancelled.
  private func read(_ camera: ServedCamera, _ settings: MotionSettings) async {
    var isChecked = false
    while !Task.isCancelled {
      do { try await readOnce(camera, settings, isChecked: &isChecked) } catch  where !Task.isCancelled {
        logger.debug(
          "motion detection failed",
          metadata: ["camera": "\(camera.configuration.name)", "reason": "\(error)"])
      } catch {}
      try? await Task.sleep(for: Self.pause)
    }
  }

  /// Reads a camera until its pictures end. Checks its zones when its size is known, unless `isChecked`,
  /// which it then sets.
  private func readOnce(
    _ camera: ServedCamera, _ settings: MotionSettings, isChecked: inout Bool
  ) async throws {
    let preview = try registry.session.addPreview(
      MotionCells.view.named(registry.nextName("motion")), of: camera.source,
      updateEvery: .seconds(1 / settings.rate))
    preview.preview.update {
      // A viewer's view with a crop must not make the camera change its size.
      $0.keepsReferenceSize = true
      $0.takesReduced = true
    }
    defer { registry.session.remove(preview) }
    for try await picture in preview.pictures(for: .jpeg) {
      let size = registry.session[camera.source]?.size
      if let size, !isChecked {
        check(settings, of: camera.configuration, in: size)
        isChecked = true
      }
      update(camera) { $0.take(picture, reference: size, at: CaptureClock.now) }
    }
  }

  /// Logs a configured zone that shows nothing of the camera, whose size may be known only now.
  private func check(_ settings: MotionSettings, of camera: CameraConfiguration, in size: Size) {
    do throws(ParameterError) { try settings.checkZones(in: camera.zoneViews, of: size) } catch {
      logger.warning(
        "motion zone shows nothing", metadata: ["camera": "\(camera.name)", "reason": "\(error.reason)"])
    }
  }
}
