// Writes snapshots to a folder in the background, so that a slow disk delays nothing else.
internal import Dispatch
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Stores snapshots in a folder within the configured limits.
///
/// Pictures are encoded and written on a separate queue. If too many snapshots wait, new ones are dropped and
/// counted. An error, such as a full or read-only disk, is logged once and counted each time; the next
/// picture is tried again.
final class SnapshotFolder: Service {
  private struct State: ~Copyable {
    var store: FolderStore?
    var trouble: String?
  }

  /// The most snapshots waiting to be written.
  static let capacity = 16
  private static let quality = 85
  /// How long a snapshot of a schedule waits for a slow disk before it is dropped.
  private static let patience = Duration.seconds(5)
  /// The interval at which old files are removed.
  private static let period = Duration.seconds(60)
  /// The most files to remove at once, before waiting snapshots are written.
  private static let prunedAtOnce = 1000
  /// How long the shutdown waits for the disk.
  private static let endsWithin = Duration.seconds(2)

  private let configuration: FolderConfiguration
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let now: @Sendable () -> WallTime
  private let clock: @Sendable () -> CaptureInstant
  private let queue = DispatchQueue(label: "glpreview.folder", qos: .utility)
  private let waiting = Watched(0)
  // Used only on the queue; the lock makes that visible to the compiler.
  private let state = Mutex(State())

  /// `now` is the wall clock, which may be adjusted; `clock` is monotonic.
  init(
    _ configuration: FolderConfiguration, metrics: ServiceMetrics, logger: Logger,
    now: @escaping @Sendable () -> WallTime = { .now },
    clock: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    self.configuration = configuration
    self.metrics = metrics
    self.logger = logger
    self.now = now
    self.clock = clock
  }

  /// Queues all views of `snapshot` for writing; returns at once.
  func add(_ snapshot: Snapshot) {
    let isIn = waiting.update { waiting in
      guard waiting < Self.capacity else { return false }
      waiting += 1
      return true
    }
    guard isIn else {
      metrics.count(.file(.dropped), by: snapshot.pictures.count)
      return
    }
    write(snapshot) { picture in
      let name = StampedFileName(camera: snapshot.camera, view: picture.name, time: snapshot.time)
      return [.stamped(name, replacing: false)]
    }
  }

  /// Waits a while until there is room, then queues all views of `snapshot` under the names of `sending`.
  func add(_ snapshot: Snapshot, _ sending: ScheduledSending) async {
    let isIn = try? await waiting.first(until: CaptureClock.now + Self.patience) { waiting -> Bool? in
      // The rest is for snapshots that can't wait.
      guard waiting < Self.capacity / 2 else { return nil }
      waiting += 1
      return true
    }
    guard isIn == true else {
      metrics.count(.file(.dropped), by: snapshot.pictures.count)
      return
    }
    write(snapshot) { picture in
      let name = StampedFileName(camera: snapshot.camera, view: picture.name, time: sending.moment)
      return (sending.isInSequence ? [.stamped(name, replacing: true)] : [])
        + (sending.isLatest ? [.latest(name)] : [])
    }
  }

  /// The name of a file.
  private enum Name {
    /// A name that sorts by time. The file is removed when it exceeds the limits. Without `replacing`, a second file of
    /// a name gets a number.
    case stamped(StampedFileName, replacing: Bool)
    /// The name that each picture of the view overwrites.
    case latest(StampedFileName)
  }

  private func write(_ snapshot: Snapshot, as names: @escaping @Sendable (RenderedPicture) -> [Name]) {
    queue.async { [self] in
      for picture in snapshot.pictures { write(picture, as: names(picture)) }
      prune()
      waiting.update { $0 -= 1 }
    }
  }

  /// Returns when everything added before has been written.
  func flush() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }

  /// Scans the folder, then deletes old files periodically. At shutdown, waits for pending writes for at most
  /// two seconds.
  func run() async throws {
    queue.async { [self] in tryTo { _ in } }
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      queue.async { [self] in prune() }
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.period) }
    }
    await waitAtMost(Self.endsWithin) { [self] in await flush() }
  }

  private func write(_ picture: RenderedPicture, as names: [Name]) {
    let isDone = tryTo { store in
      let bytes = try picture.encodedJPEG(quality: Self.quality).bytes
      for name in names {
        switch name {
        case .stamped(let name, let replacing):
          _ = try store.write(bytes, as: name, at: clock(), replacing: replacing)
        case .latest(let name): try store.replaceLatest(bytes, of: name)
        }
      }
    }
    metrics.count(.file(isDone ? .done : .failed))
  }

  private func prune() {
    tryTo { [self] store in
      let count = store.prune(now: now(), at: clock(), atMost: Self.prunedAtOnce).count
      for notice in store.takeNotices() { logger.warning("\(notice)") }
      if count > 0 { metrics.count(.removedFile, by: count) }
      if count == Self.prunedAtOnce { queue.async { [self] in prune() } }
    }
  }

  /// Opens the folder if necessary, and runs `work` with it. Logs the first of several equal errors, and the
  /// next success.
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
        if state.trouble != nil { logger.notice("saving of snapshots resumed") }
        state.trouble = nil
        return true
      } catch {
        let trouble = "\(error)"
        if state.trouble != trouble {
          logger.error("snapshot not saved", metadata: ["error": "\(trouble)"])
        }
        state.trouble = trouble
        return false
      }
    }
  }
}
