// Looks after the cameras: how each is, how fast its frames come, and whether those that must work do.
internal import GLPreview
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Looks at all cameras a few times a second and tells of what has changed.
final class CameraWatch: Service {
  private let registry: CameraRegistry
  private let logger: Logger
  private let onChange: @Sendable (String, CameraReport) -> Void
  private let state = Mutex<[String: WatchedCamera]>([:])

  private static let interval = Duration.milliseconds(250)
  /// A camera that must work and did not is tried again so often.
  private static let provesEvery = Duration.seconds(5)

  init(
    _ registry: CameraRegistry, logger: Logger,
    onChange: @escaping @Sendable (String, CameraReport) -> Void
  ) {
    self.registry = registry
    self.logger = logger
    self.onChange = onChange
  }

  /// How a camera was a moment ago.
  func report(of camera: String) -> CameraReport {
    state.withLock { $0[camera]?.report } ?? CameraReport(since: .now)
  }

  /// Those that must work and don't, each with what is wrong.
  var failing: [(camera: String, why: String)] {
    registry.cameras.filter(\.configuration.isRequired).compactMap { camera in
      let name = camera.configuration.name
      let report = report(of: name)
      switch report.state {
      case .live: return nil
      case .idle where report.isProven: return nil
      default: return (name, report.reason ?? "is \(report.state.rawValue)")
      }
    }
  }

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await withThrowingDiscardingTaskGroup { group in
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
          for camera in registry.cameras {
            await look(at: camera.configuration.name)
            if needsProof(camera.configuration) {
              group.addTask { await self.prove(camera.configuration.name) }
            }
          }
          forgetOthers()
          try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
        group.cancelAll()
      }
    } onGracefulShutdown: {
    }
  }

  private func forgetOthers() {
    let names = Set(registry.cameras.map(\.configuration.name))
    state.withLock { state in state = state.filter { names.contains($0.key) } }
  }

  // MARK: Looking

  private func look(at name: String) async {
    let status = await registry.session.status(of: name)
    let failure = await registry.session.failure(of: name)
    let frames = registry.session.statistics(of: name)?.frames ?? 0
    let now = CaptureClock.now
    let changed = state.withLock { entries -> CameraReport? in
      var entry = entries[name] ?? WatchedCamera(report: CameraReport(since: .now))
      let isNew = entries[name] == nil
      let before = entry.report
      entry.update(status, failure, frames, at: now)
      entries[name] = entry
      return isNew || before.state != entry.report.state || before.reason != entry.report.reason
        ? entry.report : nil
    }
    guard let changed else { return }
    logger.log(
      level: changed.state == .lost || changed.state == .stalled ? .warning : .info,
      "a camera changed its state",
      metadata: ["camera": "\(name)", "state": "\(changed.state)", "reason": "\(changed.reason ?? "")"])
    onChange(name, changed)
  }

  // MARK: Proving

  private func needsProof(_ camera: CameraConfiguration) -> Bool {
    guard camera.isRequired else { return false }
    let now = CaptureClock.now
    return state.withLock { entries in
      guard let entry = entries[camera.name], !entry.report.isProven, entry.report.state != .live,
        !entry.isBeingProved, entry.provedAt.map({ now - $0 > Self.provesEvery }) ?? true
      else { return false }
      entries[camera.name]?.isBeingProved = true
      return true
    }
  }

  /// Has a camera give a picture.
  private func prove(_ name: String) async {
    let request = SnapshotRequest(.newest, fallback: .error, timeout: Self.provesEvery)
    let isProven = (try? await registry.session.moment(of: name, request)) != nil
    state.withLock { entries in
      entries[name]?.isBeingProved = false
      entries[name]?.provedAt = CaptureClock.now
      if isProven { entries[name]?.report.isProven = true }
    }
  }
}

extension WallTime {
  /// This moment.
  static var now: WallTime { WallTime(capturedAt: CaptureClock.now) }
}
