// Keeps snapshots in a folder, beside all else: what the disk does holds up nobody.
internal import CoreMetrics
internal import Dispatch
internal import GLPreview
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// A folder of snapshots, with as many of them as its configuration allows.
///
/// Pictures are encoded and written on a queue of its own, some at a time: when more wait than that, what comes is dropped
/// and counted. A full disk, or one that may not be written to, is logged once, counted each time, and tried again with the
/// next picture.
final class SnapshotFolder: Service {
  private struct State: ~Copyable {
    var store: FolderStore?
    var trouble: String?
  }

  /// Snapshots that wait to be written, at most.
  static let capacity = 16
  /// How often it is looked for what has become too old.
  private static let period = Duration.seconds(60)

  private let configuration: SnapshotFolderConfiguration
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let now: @Sendable () -> WallTime
  private let clock: @Sendable () -> Duration
  private let queue = DispatchQueue(label: "glpreview.folder", qos: .utility)
  private let waiting = Mutex(0)
  // Used on the queue alone; the lock is what the compiler can see of that.
  private let state = Mutex(State())

  /// - Parameters:
  ///   - configuration: where, and how much is kept.
  ///   - metrics: where files are counted.
  ///   - logger: who is told of trouble.
  ///   - now: the wall clock, which may be set.
  ///   - clock: one that never is.
  init(
    _ configuration: SnapshotFolderConfiguration, metrics: ServiceMetrics, logger: Logger,
    now: @escaping @Sendable () -> WallTime = { WallTime(capturedAt: CaptureClock.now) },
    clock: @escaping @Sendable () -> Duration = { CaptureClock.now }
  ) {
    self.configuration = configuration
    self.metrics = metrics
    self.logger = logger
    self.now = now
    self.clock = clock
  }

  /// Has the pictures of `snapshot` written, all its views; returns at once.
  ///
  /// - Parameters:
  ///   - snapshot: what to keep.
  ///   - quality: of the JPEGs, 1...100.
  func add(_ snapshot: Snapshot, quality: Int = 85) {
    let isIn = waiting.withLock { waiting in
      guard waiting < Self.capacity else { return false }
      waiting += 1
      return true
    }
    guard isIn else {
      metrics.folder(.dropped).increment(by: snapshot.pictures.count)
      return
    }
    queue.async { [self] in
      for picture in snapshot.pictures { write(picture, of: snapshot, quality) }
      prune()
      waiting.withLock { $0 -= 1 }
    }
  }

  /// Returns when all is written that was added before.
  func flush() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }

  /// Looks at what is there, and from time to time for what is too old; at the end of the service, waits for what is
  /// being written.
  func run() async throws {
    queue.async { [self] in tryTo { _ in } }
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      queue.async { [self] in prune() }
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.period) }
    }
    await flush()
  }

  private func write(_ picture: SnapshotPicture, of snapshot: Snapshot, _ quality: Int) {
    let isDone = tryTo { store in
      let bytes = try picture.jpegData(quality: quality).bytes
      let name = SnapshotFileName(camera: snapshot.camera, view: picture.name, time: snapshot.time)
      _ = try store.write(bytes, as: name, at: clock())
    }
    metrics.folder(isDone ? .done : .failed).increment()
  }

  private func prune() {
    tryTo { [self] store in
      let count = store.prune(now: now(), at: clock())
      for notice in store.takeNotices() { logger.warning("\(notice)") }
      if count > 0 { metrics.folderRemoved.increment(by: count) }
    }
  }

  /// Opens the folder where it is not open, and does `work` with it; tells of trouble when it begins, and when it ends.
  @discardableResult
  private func tryTo(_ work: (inout FolderStore) throws -> Void) -> Bool {
    state.withLock { state in
      do {
        var store =
          if let store = state.store.take() { store } else {
            try FolderStore(configuration, now: now(), at: clock())
          }
        let result = Result { try work(&store) }
        state.store = consume store
        try result.get()
        if state.trouble != nil { logger.notice("snapshots can be kept again") }
        state.trouble = nil
        return true
      } catch {
        let trouble = "\(error)"
        if state.trouble != trouble {
          logger.error("a snapshot can't be kept", metadata: ["error": "\(trouble)"])
        }
        state.trouble = trouble
        return false
      }
    }
  }
}
