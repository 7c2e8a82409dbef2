// Monitors the cameras: their state, their frame rate, and whether required cameras work.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Checks the cameras that are in use a few times a second, and reports changes. Cameras without viewers
/// cost nothing.
package final class CameraWatch: Service {
  private let registry: CameraRegistry
  private let logger: Logger
  private let onChange: @Sendable (String, CameraReport) -> Void
  /// Keyed by the names of the cameras' sources, so that the state of a replaced camera starts from the
  /// beginning.
  private let state = Mutex<[String: WatchedCamera]>([:])
  /// The interval at which a required camera without frames is tested.
  private let provesEvery: Duration

  private static let interval = Duration.milliseconds(250)

  init(
    _ registry: CameraRegistry, logger: Logger, provesEvery: Duration = .seconds(5),
    onChange: @escaping @Sendable (String, CameraReport) -> Void
  ) {
    self.registry = registry
    self.logger = logger
    self.provesEvery = provesEvery
    self.onChange = onChange
  }

  func report(of camera: String) -> CameraReport {
    registry.served[camera: camera].map(report) ?? CameraReport(since: .now)
  }

  package func report(of camera: ServedCamera) -> CameraReport {
    state.withLock { $0[camera.source]?.report } ?? CameraReport(since: .now)
  }

  /// Returns when a camera was lost or stalled, and when it became live again, oldest first.
  package func changes(of camera: ServedCamera) -> [WatchedCamera.Change] {
    state.withLock { $0[camera.source]?.changes ?? [] }
  }

  /// The required cameras that do not work, with the reasons.
  var failing: [(camera: String, why: String)] {
    registry.cameras.filter(\.configuration.isRequired).compactMap { camera in
      state.withLock { $0[camera.source].map(\.failure) ?? WatchedCamera.notTried }
        .map { (camera.configuration.name, $0) }
    }
  }

  package func run() async throws { await cancelWhenGracefulShutdown { [self] in await poll() } }

  private func poll() async {
    let activity = registry.session.activity
    var inUse = Set(registry.cameras.map(\.source))
    await withDiscardingTaskGroup { group in
      while !Task.isCancelled {
        inUse.formUnion(activity.take())
        let cameras = registry.cameras
        var unsettled: Set<String> = []
        for camera in cameras where inUse.contains(camera.source) {
          if await !observe(camera) { unsettled.insert(camera.source) }
          if needsProof(camera) { group.addTask { await self.prove(camera) } }
        }
        inUse = unsettled
        forgetOthers(cameras)
        if inUse.isEmpty { try? await activity.wait() }
        await CaptureClock.sleep(untilMultipleOf: Self.interval)
      }
      group.cancelAll()
    }
  }

  private func forgetOthers(_ cameras: [ServedCamera]) {
    state.withLock { state in
      guard state.count > cameras.count else { return }
      let names = Set(cameras.map(\.source))
      state = state.filter { names.contains($0.key) }
    }
  }

  // MARK: Observation

  /// Returns whether the camera stays as it is until its source becomes active.
  private func observe(_ camera: ServedCamera) async -> Bool {
    let source = registry.session[camera.source]
    let seen = await source?.observation
    let frames = source?.statistics.frames ?? 0
    let (change, isSettled) = state.withLock { entries in
      entries[camera.source, default: WatchedCamera()].observe(seen, frames, at: CaptureClock.now)
    }
    report(change, of: camera, source)
    return isSettled && seen?.isActive != true
      && (!camera.configuration.isRequired || report(of: camera).isProven)
  }

  private func report(_ change: CameraReport?, of camera: ServedCamera, _ source: PreviewSession.Source?) {
    guard var report = change else { return }
    report.replay = source?.bufferedTimes
    let name = camera.configuration.name
    var metadata: Logger.Metadata = [
      "camera": "\(name)", "state": "\(report.state)", "reason": "\(report.reason ?? "")",
    ]
    if report.state == .live, let mode = report.mode {
      (metadata["format"], metadata["transport"]) = ("\(mode.format)", "\(mode.transport)")
      metadata["not_imported"] = mode.copyingReason.map { "\($0)" }
    }
    logger.log(
      level: report.state.isTrouble ? .warning : .info, "camera state changed", metadata: metadata)
    onChange(name, report)
  }

  // MARK: Tests

  private func needsProof(_ camera: ServedCamera) -> Bool {
    guard camera.configuration.isRequired else { return false }
    let now = CaptureClock.now
    return state.withLock { entries in
      guard let entry = entries[camera.source], !entry.report.isProven, entry.report.state != .live,
        !entry.isBeingProved, entry.provedAt.map({ now - $0 > provesEvery }) ?? true
      else { return false }
      entries[camera.source]?.isBeingProved = true
      return true
    }
  }

  /// Tests a camera by requesting a picture.
  private func prove(_ camera: ServedCamera) async {
    let request = SnapshotRequest(.newest, fallback: .error, timeout: max(provesEvery, .seconds(5)))
    var failure: (any Error)?
    do { _ = try await camera.views.first?.preview.moment(request) } catch { failure = error }
    // A failure caused by the shutdown does not count.
    guard !Task.isCancelled else { return }
    state.withLock { $0[camera.source]?.proved(failure, at: CaptureClock.now) }
  }
}
