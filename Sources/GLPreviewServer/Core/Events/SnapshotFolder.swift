// Writes snapshots to a folder in the background, so that a slow disk delays nothing else.
internal import Dispatch
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Stores snapshots in a folder within the configured limits.
///
/// Pictures are encoded and written on a separate queue. If too many snapshots wait, new ones are dropped and
/// counted; so is a picture that may no longer be shown when its turn comes. An error, such as a full or read-only
/// disk, is logged once and counted each time; the next picture is tried again. A waiting picture holds its part of
/// the memory budget, as any picture that a session has drawn.
final class SnapshotFolder: Service {
  private struct State: ~Copyable {
    var store: FolderStore?
    var trouble: String?
  }

  /// The snapshots that wait.
  private struct Waiting {
    /// The number of snapshots on the queue.
    var count = 0
    /// The snapshots of schedules that wait for room on the queue, in their order.
    private(set) var line: [Place] = []
    private var lastNumber = 0

    struct Place {
      let number, byteCount: Int
    }

    /// Puts a snapshot at the end of the line. Returns its number; nil if the line is full, or its pictures would have
    /// more than `mostBytes`. A single snapshot may be larger.
    mutating func lineUp(_ byteCount: Int, mostBytes: Int) -> Int? {
      let bytes = line.reduce(byteCount) { $0 + $1.byteCount }
      guard line.count < SnapshotFolder.longestLine, line.isEmpty || bytes <= mostBytes else { return nil }
      lastNumber += 1
      line.append(Place(number: lastNumber, byteCount: byteCount))
      return lastNumber
    }

    mutating func leave(_ number: Int) { line.removeAll { $0.number == number } }

    /// Moves the first snapshot in line to the queue if it has this number, and there is room.
    mutating func admits(_ number: Int) -> Bool {
      guard count < SnapshotFolder.scheduledCapacity, line.first?.number == number else { return false }
      line.removeFirst()
      count += 1
      return true
    }
  }

  /// The most snapshots waiting to be written.
  static let capacity = 16
  /// The most of them if another one of a schedule is to be added: the rest is for snapshots that can't wait.
  private static let scheduledCapacity = capacity / 2
  /// The most snapshots of schedules that wait for room besides these.
  private static let longestLine = 64
  private static let quality = 85
  /// The interval at which old files are removed.
  private static let period = Duration.seconds(60)
  /// The most files to remove at once, before waiting snapshots are written.
  private static let prunedAtOnce = 1000
  /// How long the shutdown waits for the disk.
  private static let endsWithin = Duration.seconds(2)

  private let configuration: FolderConfiguration
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let queueTimeout: Duration
  private let mostBytes: Int
  private let now: @Sendable () -> WallTime
  private let clock: @Sendable () -> CaptureInstant
  /// Runs all that waits for the disk.
  let queue = DispatchQueue(label: "glpreview.folder", qos: .utility)
  private let waiting = Watched(Waiting())
  private let drops: DropLog
  // Used only on the queue; the lock makes that visible to the compiler.
  private let state = Mutex(State())

  /// Creates the folder's queue.
  ///
  /// - Parameters:
  ///   - configuration: the folder, and its limits.
  ///   - metrics: counts the files.
  ///   - logger: the log of errors and drops.
  ///   - queueTimeout: how long a snapshot of a schedule waits for a slow disk before it is dropped.
  ///   - mostBytes: the most memory of snapshots of schedules that wait for room on the queue.
  ///   - now: the wall clock, which may be adjusted.
  ///   - clock: the monotonic clock.
  init(
    _ configuration: FolderConfiguration, metrics: ServiceMetrics, logger: Logger,
    queueTimeout: Duration = .seconds(5), mostBytes: Int = .max,
    now: @escaping @Sendable () -> WallTime = { .now },
    clock: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    self.configuration = configuration
    self.metrics = metrics
    self.logger = logger
    (self.queueTimeout, self.mostBytes) = (queueTimeout, mostBytes)
    self.now = now
    self.clock = clock
    drops = DropLog(of: "snapshots for the folder", logger: logger)
  }

  /// Queues all views of `snapshot` for writing; returns at once. Each is written if `mayShow` returns true then.
  func add(_ snapshot: Snapshot, while mayShow: @escaping @Sendable (_ view: String) -> Bool = { _ in true })
  {
    let isIn = waiting.update { waiting in
      guard waiting.count < Self.capacity else { return false }
      waiting.count += 1
      // Under the lock: snapshots are written in the order in which they are admitted.
      write(snapshot, while: mayShow) { picture in
        let time = snapshot.time.besidesMoments
        let name = StampedFileName(camera: snapshot.camera, view: picture.name, time: time)
        return [.stamped(name, .new)]
      }
      return true
    }
    if !isIn { drop(snapshot.pictures.count, .tooMany) }
  }

  /// Queues all views of `snapshot` under the names of `sending`, as `add` does; returns at once. If there is no room,
  /// the snapshot waits a while for it, behind those that were added before.
  func add(
    _ snapshot: Snapshot, _ sending: ScheduledSending,
    while mayShow: @escaping @Sendable (_ view: String) -> Bool = { _ in true }
  ) {
    let byteCount = snapshot.pictures.reduce(0) { $0 + $1.picture.byteCount }
    guard let number = waiting.update({ $0.lineUp(byteCount, mostBytes: mostBytes) }) else {
      return drop(snapshot.pictures.count, .tooMany)
    }
    // Runs under the lock: snapshots are written in the order in which they are admitted.
    let isAdmitted: @Sendable (inout Waiting) -> Bool = { [self] waiting in
      guard waiting.admits(number) else { return false }
      write(snapshot, sending, while: mayShow)
      return true
    }
    if waiting.update({ isAdmitted(&$0) }) { return }
    let deadline = CaptureClock.now + queueTimeout
    Task { [self] in
      let isIn = try? await waiting.first(until: deadline) { isAdmitted(&$0) ? true : nil }
      // The next one is the first in line now.
      waiting.update { $0.leave(number) }
      if isIn != true { drop(snapshot.pictures.count, .tooMany) }
    }
  }

  private func write(
    _ snapshot: Snapshot, _ sending: ScheduledSending, while mayShow: @escaping @Sendable (String) -> Bool
  ) {
    // A placeholder of the same moment, of another node or before the clock was set back, replaces no picture.
    let writing = snapshot.sourceState == .live ? Writing.replacing : .unlessThere
    write(snapshot, while: mayShow) { picture in
      let name = StampedFileName(camera: snapshot.camera, view: picture.name, time: sending.moment)
      return (sending.isInSequence ? [.stamped(name, writing)] : [])
        + (sending.isLatest ? [.latest(name)] : [])
    }
  }

  /// The way in which an existing file of the same name is treated.
  private enum Writing {
    /// The file stays, and the new one gets a number.
    case new
    case replacing
    /// The file stays, and nothing is written.
    case unlessThere
  }

  /// The name of a file.
  private enum Name {
    /// A name that sorts by time. The file is removed when it exceeds the limits.
    case stamped(StampedFileName, Writing)
    /// The name that each picture of the view overwrites.
    case latest(StampedFileName)
  }

  private func write(
    _ snapshot: Snapshot, while mayShow: @escaping @Sendable (String) -> Bool,
    as names: @escaping @Sendable (RenderedPicture) -> [Name]
  ) {
    queue.async { [self] in
      var isDone = true
      for picture in snapshot.pictures {
        if mayShow(picture.name) {
          isDone = write(picture, as: names(picture)) && isDone
        } else {
          isDone = false
          drop(1, .notShown)
        }
      }
      prune()
      let isLast = waiting.update { waiting in
        waiting.count -= 1
        return waiting.count == 0 && waiting.line.isEmpty
      }
      if isDone, isLast { drops.recovered() }
    }
  }

  /// Counts pictures that are not written, and logs the first of a series.
  private func drop(_ count: Int, _ reason: DropReason) {
    metrics.count(.file(.dropped), by: count)
    drops.dropped(reason)
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
    await waitAtMost(Self.endsWithin) { [self] in
      _ = try? await waiting.first { $0.line.isEmpty ? true : nil }
      await flush()
    }
  }

  /// Returns whether the files are there now.
  private func write(_ picture: RenderedPicture, as names: [Name]) -> Bool {
    let isDone = tryTo { store in
      let bytes = try picture.encodedJPEG(quality: Self.quality).bytes
      for name in names {
        switch name {
        case .stamped(let name, .unlessThere):
          if let file = store.open(name) {
            close(file)
          } else {
            _ = try store.write(bytes, as: name, at: clock())
          }
        case .stamped(let name, let writing):
          _ = try store.write(bytes, as: name, at: clock(), replacing: writing == .replacing)
        case .latest(let name): try store.replaceLatest(bytes, of: name)
        }
      }
    }
    metrics.count(.file(isDone ? .done : .failed))
    return isDone
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

extension WallTime {
  /// The time in the name of a file that is named by its capture. Names with whole seconds are those of schedules'
  /// moments, so the first millisecond of a second counts as the second one.
  fileprivate var besidesMoments: WallTime {
    let fraction = sinceEpoch.components.attoseconds
    guard (0..<1_000_000_000_000_000).contains(fraction) else { return self }
    return WallTime(sinceEpoch: sinceEpoch + .milliseconds(1))
  }
}
