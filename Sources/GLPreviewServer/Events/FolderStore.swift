// A folder of snapshots on disk. All of it goes by descriptors, from the folder that was opened once: whoever moves or links
// what is in it leads nothing of ours to other places. `PictureFile` is not used for it: that follows links, as a user's
// own paths should be, goes by paths, and does not wait for the disk.
internal import FoundationEssentials
internal import GLPreview
internal import Glibc

/// An open folder, and what is known to be in it.
struct FolderStore: ~Copyable {
  private let folder: CInt
  private let path: String
  private var retained: RetainedFiles
  private var number = 0

  /// Opens the folder, makes it where it is not there, and removes what an earlier life left half written.
  ///
  /// - Parameters:
  ///   - configuration: where, and how much is kept.
  ///   - now: the wall clock.
  ///   - time: the monotonic clock at the same moment.
  /// - Throws: `FolderError` where it can't be opened.
  init(_ configuration: SnapshotFolderConfiguration, now: WallTime, at time: Duration) throws(FolderError) {
    path = configuration.path
    retained = RetainedFiles(configuration, now: now, at: time)
    // Pictures of rooms are not everybody's on the machine.
    _ = unsafe mkdir(path, 0o750)
    folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw FolderError(path) }
    look()
  }

  deinit { close(folder) }

  /// How many files are known: all of them, where there are limits.
  var count: Int { retained.count }

  /// Puts a picture there, under its name or, where that is taken, one with a number behind it. Whole or not at all: a process
  /// that is killed meanwhile leaves what the next one removes.
  ///
  /// - Returns: the file's path within the folder.
  mutating func write(_ bytes: [UInt8], as name: SnapshotFileName, at time: Duration) throws(FolderError)
    -> String
  {
    if unsafe mkdirat(folder, name.camera, 0o750) != 0, errno != EEXIST { throw error(name.camera) }
    let camera = unsafe openat(folder, name.camera, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard camera >= 0 else { throw error(name.camera) }
    defer { close(camera) }
    number += 1
    let temporary = "\(PartName.prefix)\(getpid())-\(number)\(PartName.suffix)"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe openat(camera, temporary, flags, 0o640)
    guard file >= 0 else { throw error(name.camera) }
    let final = freeName(name, in: camera)
    var failure: FolderError?
    do throws(WriteError) {
      try PictureFile.write(bytes, to: file, named: "\(path)/\(name.camera)")
      if fsync(file) != 0 { failure = error(name.camera) }
    } catch {
      failure = FolderError(description: error.description)
    }
    close(file)
    guard failure == nil, unsafe renameat(camera, temporary, camera, final) == 0 else {
      let failure = failure ?? error(name.camera)
      unsafe unlinkat(camera, temporary, 0)
      throw failure
    }
    if let written = SnapshotFileName(camera: name.camera, file: final) {
      retained.add(RetainedFiles.File(name: written, bytes: bytes.count), at: time)
    }
    return "\(name.camera)/\(final)"
  }

  /// Removes what is too old or too much.
  ///
  /// - Returns: how many files.
  mutating func prune(now: WallTime, at time: Duration) -> Int {
    let files = retained.removeExcess(now: now, at: time)
    for file in files {
      let camera = unsafe openat(folder, file.name.camera, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard camera >= 0 else { continue }
      // Who has removed it before us has done what we wanted.
      unsafe unlinkat(camera, file.name.file, 0)
      close(camera)
    }
    return files.count
  }

  /// What an operator should know, since the last call.
  mutating func takeNotices() -> [String] { retained.takeNotices() }

  private func freeName(_ name: SnapshotFileName, in camera: CInt) -> String {
    var number = 1
    while number < 1000, unsafe faccessat(camera, name.numbered(number), F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
      number += 1
    }
    return name.numbered(number)
  }

  /// Looks through the folder once: what is half written goes, what is ours is known from then on.
  private mutating func look() {
    var found: [RetainedFiles.File] = []
    for camera in Self.names(in: folder) {
      let descriptor = unsafe openat(folder, camera, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      for file in Self.names(in: descriptor) {
        if PartName.isAbandoned(file) {
          unsafe unlinkat(descriptor, file, 0)
        } else if retained.isLimited, let name = SnapshotFileName(camera: camera, file: file),
          let bytes = Self.size(of: file, in: descriptor)
        {
          found.append(RetainedFiles.File(name: name, bytes: bytes))
        }
      }
    }
    retained.add(found)
  }

  /// Bytes of a file; nil of what is none. By its end: the system's structures belong, to the compiler, to whichever library
  /// it has read first, and NIO has some of its own.
  private static func size(of file: String, in folder: CInt) -> Int? {
    let descriptor = unsafe openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let size = lseek(descriptor, 0, SEEK_END)
    return size >= 0 ? Int(size) : nil
  }

  /// What is in an open folder.
  private static func names(in folder: CInt) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(folder)")) ?? []
  }

  private func error(_ name: String) -> FolderError {
    FolderError("\(path)/\(name)")
  }
}

/// What a file is called while it is written: `.glpreview-PROCESS-NUMBER.part`.
private enum PartName {
  static let prefix = ".glpreview-"
  static let suffix = ".part"

  /// Whether nobody writes it any more: its process is over, or is this one, which has not begun.
  static func isAbandoned(_ name: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    let process = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }) ?? 0
    return process <= 0 || process == getpid() || kill(process, 0) != 0 && errno == ESRCH
  }
}

/// What can't be done in a folder.
struct FolderError: Error, Hashable, CustomStringConvertible {
  /// `PATH: REASON`.
  let description: String

  init(description: String) { self.description = description }

  /// What `errno` says of `path`.
  init(_ path: String) { description = "\(path): \(unsafe String(cString: strerror(errno)))" }
}
