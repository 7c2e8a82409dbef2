// Writes recordings into a folder in the background; a slow disk delays nothing else.
internal import Dispatch
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// A file that is being recorded.
struct RecordingHandle: Sendable, Hashable {
  fileprivate let number: Int
}

/// The folder of recordings, and its content.
///
/// Whole fragments are written on a separate queue, so that a file plays up to its last fragment whatever
/// happens to the process. An unfinished file is finished at the next start. When the disk is full, the
/// oldest recordings are removed. If that does not help, the file ends, which `append` reports to its
/// recorder.
final class RecordingFolder: Service, CustomStringConvertible {
  private struct State: ~Copyable {
    var store: FolderStore?
    var files: [RecordingHandle: File] = [:]
    var trouble: String?
  }

  struct File {
    var descriptor: CInt
    let name: StampedFileName
    var bytes = 0
    /// Where its length will be written; nil before the first bytes.
    var lengthOffset: Int?
  }

  struct Catalogue {
    var recordings = RecordingCatalogue()
    /// Recordings of earlier runs that were not read yet, the newest last.
    var unread: [StampedFileName] = []
    var failed: Set<RecordingHandle> = []
    var waitingBytes = 0
    var lastNumber = 0
  }

  /// A reference size, and the start of the recording that has it.
  struct KnownReference {
    let size: Size
    let start: WallTime
  }

  /// The most bytes that wait for the disk.
  static let mostWaitingBytes = 64 << 20
  private static let period = Duration.seconds(10)
  /// The most recordings that are removed to make room for one write.
  private static let mostRemoved = 16
  /// The most recordings that are removed at a time when limits are much lower than before, so that current
  /// recordings do not wait.
  private static let prunedAtOnce = 1000

  private let configuration: FolderConfiguration
  private let metrics: ServiceMetrics
  let logger: Logger
  private let write: @Sendable (CInt, [UInt8]) -> CInt
  let queue = DispatchQueue(label: "glpreview.recordings", qos: .utility)
  // Used only on the queue; the lock makes that visible to the compiler.
  private let state = Mutex(State())
  let catalogue = Mutex(Catalogue())
  /// The reference size of each camera's newest recording that has one. It has a lock of its own, so that it can
  /// be read while the catalogue is locked.
  let references = Mutex<[String: KnownReference]>([:])

  /// `write` writes all bytes at the end of a file, and returns 0 or `errno`.
  init(
    _ configuration: FolderConfiguration, metrics: ServiceMetrics, logger: Logger,
    write: @escaping @Sendable (CInt, [UInt8]) -> CInt = RecordedBytes.append
  ) {
    self.configuration = configuration
    self.metrics = metrics
    self.logger = logger
    self.write = write
  }

  // MARK: Recording

  /// Begins a file for pictures from `start` on.
  func begin(
    _ camera: String, _ view: String, _ note: RecordingNote = RecordingNote(), at start: WallTime
  ) -> (RecordingHandle, Recording) {
    let (handle, recording) = catalogue.withLock { catalogue in
      catalogue.lastNumber += 1
      var name = StampedFileName(camera: camera, view: view, time: start, .recording)
      var time = start
      while catalogue.recordings[name] != nil {
        time = WallTime(sinceEpoch: time.sinceEpoch + .milliseconds(1))
        name = StampedFileName(camera: camera, view: view, time: time, .recording)
      }
      let recording = Recording(beginning: name, camera, view, note, firstPicture: start)
      catalogue.recordings[name] = recording
      return (RecordingHandle(number: catalogue.lastNumber), recording)
    }
    learnReference(of: recording)
    queue.async { [self] in create(handle, recording) }
    return (handle, recording)
  }

  /// Appends whole fragments. Returns at once. Returns false, and appends nothing, if the file has failed or
  /// the disk is too slow.
  func append(_ bytes: [UInt8], to handle: RecordingHandle) -> Bool {
    let isIn = catalogue.withLock { catalogue in
      guard !catalogue.failed.contains(handle), catalogue.waitingBytes < Self.mostWaitingBytes else {
        catalogue.failed.insert(handle)
        return false
      }
      catalogue.waitingBytes += bytes.count
      return true
    }
    guard isIn else { return false }
    queue.async { [self] in
      add(bytes, to: handle)
      catalogue.withLock { $0.waitingBytes -= bytes.count }
    }
    return true
  }

  /// Ends a file whose pictures last `length` ticks of 1/90000 s. `then` is called when it is written, with
  /// nil if nothing of it could be written.
  func end(_ handle: RecordingHandle, length: Int, then: @escaping @Sendable (Recording?) -> Void) {
    queue.async { [self] in
      then(finish(handle, length: length))
      _ = catalogue.withLock { $0.failed.remove(handle) }
      prune()
    }
  }

  // MARK: Reading

  /// Opens a recording for reading; nil if it no longer exists.
  func open(_ recording: Recording) async -> DiskFile? {
    await onQueue { [self] in
      state.withLock { state -> DiskFile? in
        guard let store = state.store.take() else { return nil }
        let descriptor = store.open(recording.name)
        state.store = consume store
        return descriptor.map { DiskFile($0) }
      }
    }
  }

  /// Deletes a recording that is complete.
  func remove(_ recording: Recording) async -> Removal {
    await onQueue { [self] in
      guard catalogue.withLock({ $0.recordings[recording.name]?.isOpen == false }) else { return .isOpen }
      guard tryTo("not removed", { store, _ in try store.remove(recording.name) }) else { return .failed }
      catalogue.withLock { $0.recordings[recording.name] = nil }
      return .done
    }
  }

  enum Removal {
    case done, isOpen, failed
  }

  /// Returns when all work that was queued before is done.
  func flush() async { await onQueue {} }

  /// Like `flush`, but waits no longer than a shutdown may take. Files that are unfinished then are finished
  /// at the next start.
  func flushInTime() async { await waitAtMost(.seconds(2)) { [self] in await flush() } }

  func onQueue<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }

  // MARK: The service

  /// Opens the folder, then enforces its limits. When the service ends, the recorders have already ended all
  /// files.
  func run() async throws {
    queue.async { [self] in tryTo("folder not read") { _, _ in } }
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      queue.async { [self] in prune() }
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.period) }
    }
    await flushInTime()
  }

  // MARK: Work on the queue

  private func create(_ handle: RecordingHandle, _ recording: Recording) {
    let isDone = tryTo("not written") { store, files in
      let descriptor = try store.create(recording.name)
      files[handle] = File(descriptor: descriptor, name: recording.name)
    }
    if !isDone {
      fail(handle, recording.name)
      forgetIfGone()
    }
  }

  /// Closes a folder that was removed, or whose disk was. The next file opens it again.
  private func forgetIfGone() {
    state.withLock { state in
      guard state.files.isEmpty, let store = state.store.take() else { return }
      if store.isThere {
        state.store = consume store
      } else {
        catalogue.withLock { catalogue in
          catalogue.recordings.removeAllWritten()
          catalogue.unread = []
        }
      }
    }
  }

  private func fail(_ handle: RecordingHandle, _ name: StampedFileName) {
    metrics.count(.recording(.failed))
    catalogue.withLock { catalogue in
      catalogue.failed.insert(handle)
      if catalogue.recordings[name]?.bytes == 0 { catalogue.recordings[name] = nil }
    }
  }

  private func add(_ bytes: [UInt8], to handle: RecordingHandle) {
    // Without an earlier picture, the later ones can't be decoded.
    guard !catalogue.withLock({ $0.failed.contains(handle) }) else { return }
    var name: StampedFileName?
    let isDone = tryTo("not written") { store, files in
      guard var file = files[handle] else { return }
      name = file.name
      defer { files[handle] = file }
      var error = write(file.descriptor, bytes)
      var removed = 0
      while error == ENOSPC || error == EDQUOT, removed < Self.mostRemoved, let oldest = store.removeOldest()
      {
        removed += 1
        catalogue.withLock { $0.recordings[oldest] = nil }
        metrics.count(.removedRecording)
        // A partial write is undone first.
        if ftruncate(file.descriptor, file.bytes) != 0 || lseek(file.descriptor, file.bytes, SEEK_SET) < 0 {
          break
        }
        error = write(file.descriptor, bytes)
      }
      if removed > 0 {
        logger.warning(
          "oldest recordings removed: the disk is full", metadata: ["recordings": "\(removed)"])
      }
      guard error == 0 else {
        if ftruncate(file.descriptor, file.bytes) == 0 { lseek(file.descriptor, file.bytes, SEEK_SET) }
        throw FolderError(description: "\(file.name.camera)/\(file.name.file): \(String(errno: error))")
      }
      if file.bytes == 0 { file.lengthOffset = MP4Recording.lengthOffset(inBeginning: bytes) }
      file.bytes += bytes.count
      metrics.count(.recordedBytes, by: bytes.count)
      catalogue.withLock { $0.recordings[file.name]?.bytes = file.bytes }
    }
    if !isDone, let name { fail(handle, name) }
  }

  private func finish(_ handle: RecordingHandle, length: Int) -> Recording? {
    var finished: Recording?
    tryTo("not finished") { store, files in
      guard let file = files.removeValue(forKey: handle) else { return }
      defer { close(file.descriptor) }
      guard file.bytes > 0, let offset = file.lengthOffset else {
        try? store.remove(file.name)
        catalogue.withLock { $0.recordings[file.name] = nil }
        return
      }
      let isFailed = catalogue.withLock { $0.failed.contains(handle) }
      // For a file that failed, the length of what was written.
      let known =
        isFailed ? MP4Recording(size: file.bytes) { DiskFile.read(file.descriptor, $0, $1) } : nil
      let length = known?.length ?? length
      let finish = MP4Recording.finish(length: length)
      let isWritten =
        DiskFile.write(finish, at: offset, to: file.descriptor) == 0 && fsync(file.descriptor) == 0
      let error = FolderError("\(file.name.camera)/\(file.name.file)")
      store.finished(file.name, bytes: file.bytes, at: CaptureClock.now)
      finished = catalogue.withLock { catalogue in
        catalogue.recordings[file.name]?.isOpen = false
        catalogue.recordings[file.name]?.duration = RecordedBytes.duration(length)
        return catalogue.recordings[file.name]
      }
      guard isWritten else { throw error }
      metrics.count(.recording(.done))
    }
    return finished
  }

  private func prune() {
    tryTo("folder not cleaned up") { [self] store, files in
      let open = files.values.reduce(0) { $0 + $1.bytes }
      let removed = store.prune(now: .now, at: CaptureClock.now, besides: open, atMost: Self.prunedAtOnce)
      for notice in store.takeNotices() { logger.warning("\(notice)") }
      guard !removed.isEmpty else { return }
      metrics.count(.removedRecording, by: removed.count)
      catalogue.withLock { $0.recordings.remove(removed) }
      if removed.count == Self.prunedAtOnce { queue.async { [self] in prune() } }
    }
  }

  /// Opens the folder if necessary, and runs `work` with it. Logs when errors begin and when they end.
  @discardableResult
  func tryTo(
    _ what: String, _ work: (inout FolderStore, inout [RecordingHandle: File]) throws -> Void
  ) -> Bool {
    state.withLock { state in
      do {
        var store: FolderStore
        if let known = state.store.take() {
          store = known
        } else {
          store = try FolderStore(configuration, of: .recording, now: .now, at: CaptureClock.now)
          let (newest, others) = catalogue.withLock { $0.recordings.add(store.takeFound()) }
          inspect(newest, in: &store)
          catalogue.withLock { $0.unread = others }
          if !others.isEmpty { queue.async { [self] in readUnread() } }
        }
        var files = state.files
        let result = Result { try work(&store, &files) }
        state.store = consume store
        state.files = files
        try result.get()
        if state.trouble != nil { logger.notice("recording resumed") }
        state.trouble = nil
        return true
      } catch {
        let trouble = "\(error)"
        if state.trouble != trouble {
          logger.error("recording \(what)", metadata: ["error": "\(trouble)"])
        }
        state.trouble = trouble
        return false
      }
    }
  }
}
