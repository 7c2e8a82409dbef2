// A folder of snapshots or recordings on disk. All access goes through descriptors relative to the folder
// that was opened at the start, so that moved or linked entries can't redirect it. `PictureFile` is not used
// here: it follows links and paths, as is right for a user's own paths, and does not sync to disk.
internal import Glibc

/// An open folder and its known files.
package struct FolderStore: ~Copyable {
  private let folder: CInt
  private let path: String
  private let kind: StampedFileName.Kind
  private var retained: RetainedFiles
  private var number = 0

  /// The most files of earlier runs to track; each takes about 300 bytes of memory.
  private static let mostFound = 1_000_000

  /// Opens the folder, creates it if necessary, and deletes partial files of an earlier run. `now` is the
  /// time of the wall clock, `time` that of the monotonic clock. At most `mostFound` files of earlier runs
  /// are tracked.
  ///
  /// - Throws: `FolderError` if it can't be opened.
  package init(
    _ configuration: FolderConfiguration, of kind: StampedFileName.Kind = .snapshot, now: WallTime,
    at time: CaptureInstant, mostFound: Int = Self.mostFound
  ) throws(FolderError) {
    path = configuration.path
    self.kind = kind
    retained = RetainedFiles(configuration, of: kind, now: now, at: time)
    // Other users of the machine must not be able to read snapshots.
    _ = unsafe mkdir(path, 0o750)
    folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw FolderError(path) }
    found = scan(atMost: mostFound)
    retained.add(found)
    guard found.count == mostFound else { return }
    excess =
      "the \(kind) folder has \(mostFound) files or more: further ones are neither listed nor removed until the next start"
  }

  private var found: [RetainedFiles.File] = []
  /// A notice that has not been reported yet.
  private var excess: String?

  /// Returns the files of earlier runs; an empty list from the second call on.
  package mutating func takeFound() -> [RetainedFiles.File] {
    defer { found = [] }
    return found
  }

  deinit { close(folder) }

  /// Writes a picture atomically, with a number appended if its name is taken, unless it is `replacing` that
  /// file. If the process is killed during the write, the next run deletes the partial file.
  ///
  /// - Returns: the file's path relative to the folder.
  package mutating func write(
    _ bytes: [UInt8], as name: StampedFileName, at time: CaptureInstant, replacing: Bool = false
  ) throws(FolderError) -> String {
    let camera = try open(name.camera, isNew: true)
    defer { close(camera) }
    let final = replacing ? name.file : freeName(name, in: camera)
    let isThere = unsafe faccessat(camera, final, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    try write(bytes, as: final, in: camera, name.camera)
    if let written = StampedFileName(camera: name.camera, file: final, kind) {
      if isThere { retained.remove(written) }
      retained.add(RetainedFiles.File(name: written, bytes: bytes.count), at: time)
    }
    return "\(name.camera)/\(final)"
  }

  /// Writes a picture atomically to `latest-VIEW.jpg`, over that of before. Such files are never removed.
  package mutating func replaceLatest(_ bytes: [UInt8], of name: StampedFileName) throws(FolderError) {
    let camera = try open(name.camera, isNew: true)
    defer { close(camera) }
    try write(bytes, as: "latest-\(name.view)\(kind.rawValue)", in: camera, name.camera)
  }

  /// Writes a file of a camera's folder by a temporary one.
  private mutating func write(
    _ bytes: [UInt8], as final: String, in camera: CInt, _ cameraName: String
  ) throws(FolderError) {
    number += 1
    let temporary = "\(PartName.prefix)\(getpid())-\(number)\(PartName.suffix)"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe openat(camera, temporary, flags, 0o640)
    guard file >= 0 else { throw error(cameraName) }
    var failure: FolderError?
    do throws(WriteError) {
      try PictureFile.write(bytes, to: file, named: "\(path)/\(cameraName)")
      if fsync(file) != 0 { failure = error(cameraName) }
    } catch {
      failure = FolderError(description: error.description)
    }
    close(file)
    guard failure == nil, unsafe renameat(camera, temporary, camera, final) == 0 else {
      let failure = failure ?? error(cameraName)
      unsafe unlinkat(camera, temporary, 0)
      throw failure
    }
  }

  /// Opens a new file for writing. The caller closes it.
  ///
  /// - Throws: `FolderError`, also if the name is taken.
  package func create(_ name: StampedFileName) throws(FolderError) -> CInt {
    let camera = try open(name.camera, isNew: true)
    defer { close(camera) }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe openat(camera, name.file, flags, 0o640)
    guard file >= 0 else { throw error("\(name.camera)/\(name.file)") }
    return file
  }

  /// Opens a file; nil if it can't be opened, for example because it does not exist. The caller closes it.
  package func open(_ name: StampedFileName, forWriting: Bool = false) -> CInt? {
    guard let camera = try? open(name.camera) else { return nil }
    defer { close(camera) }
    let flags = (forWriting ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let file = unsafe openat(camera, name.file, flags)
    return file >= 0 ? file : nil
  }

  /// Starts to track a file from `create`, which is complete now.
  package mutating func finished(_ name: StampedFileName, bytes: Int, at time: CaptureInstant) {
    retained.add(RetainedFiles.File(name: name, bytes: bytes), at: time)
  }

  /// Deletes files that exceed the limits, and returns their names. `bytes` of unfinished files count as
  /// well. If it returns `most` names, there may be more to delete.
  package mutating func prune(
    now: WallTime, at time: CaptureInstant, besides bytes: Int = 0, atMost most: Int = .max
  ) -> [StampedFileName] {
    let files = retained.removeExcess(now: now, at: time, besides: bytes, atMost: most).map(\.name)
    for name in files { unlink(name) }
    return files
  }

  /// Deletes the file that is next in the order of deletion, and returns its name; nil if there is none.
  package mutating func removeOldest() -> StampedFileName? {
    guard let file = retained.removeOldest() else { return nil }
    unlink(file.name)
    return file.name
  }

  /// Deletes a file.
  ///
  /// - Throws: `FolderError` if it can't be deleted. A file that does not exist is not an error.
  package mutating func remove(_ name: StampedFileName) throws(FolderError) {
    let camera = try open(name.camera)
    defer { close(camera) }
    guard unsafe unlinkat(camera, name.file, 0) == 0 || errno == ENOENT else {
      throw error("\(name.camera)/\(name.file)")
    }
    retained.remove(name)
  }

  private func unlink(_ name: StampedFileName) {
    guard let camera = try? open(name.camera) else { return }
    unsafe unlinkat(camera, name.file, 0)
    close(camera)
  }

  /// Whether the folder still exists at its path.
  package var isThere: Bool { unsafe faccessat(folder, ".", F_OK, 0) == 0 }

  /// Opens the subfolder of a camera.
  private func open(_ camera: String, isNew: Bool = false) throws(FolderError) -> CInt {
    if isNew, unsafe mkdirat(folder, camera, 0o750) != 0, errno != EEXIST { throw error(camera) }
    let descriptor = unsafe openat(folder, camera, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(camera) }
    return descriptor
  }

  /// Returns the notices for the operator since the last call.
  package mutating func takeNotices() -> [String] {
    defer { excess = nil }
    return [excess].compactMap(\.self) + retained.takeNotices()
  }

  private func freeName(_ name: StampedFileName, in camera: CInt) -> String {
    var number = 1
    while number < 1000, unsafe faccessat(camera, name.numbered(number), F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
      number += 1
    }
    return name.numbered(number)
  }

  /// Scans the folder once: deletes partial files, and returns up to `most` files whose names this service
  /// writes.
  private func scan(atMost most: Int) -> [RetainedFiles.File] {
    var found: [RetainedFiles.File] = []
    SystemFiles.forEachName(in: folder) { camera in
      guard let descriptor = try? open(camera) else { return }
      defer { close(descriptor) }
      SystemFiles.forEachName(in: descriptor) { file in
        if PartName.isAbandoned(file) {
          unsafe unlinkat(descriptor, file, 0)
        } else if retained.isLimited, found.count < most,
          let name = StampedFileName(camera: camera, file: file, kind),
          let bytes = SystemFiles.size(ofFile: file, in: descriptor), bytes <= Self.largestFile
        {
          found.append(RetainedFiles.File(name: name, bytes: bytes))
        }
      }
    }
    return found
  }

  /// Larger files were not written by this service. Below it, the sizes of a million files can be added
  /// without overflow.
  private static let largestFile = 1 << 42

  private func error(_ name: String) -> FolderError {
    FolderError("\(path)/\(name)")
  }
}

/// The name of a file being written: `.glpreview-PROCESS-NUMBER.part`.
private enum PartName {
  static let prefix = ".glpreview-"
  static let suffix = ".part"

  /// Whether the file is no longer being written: its process has ended, or is this one, which has not
  /// started writing.
  static func isAbandoned(_ name: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    let process = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }) ?? 0
    return process <= 0 || process == getpid() || kill(process, 0) != 0 && errno == ESRCH
  }
}

package struct FolderError: Error, Hashable, CustomStringConvertible {
  /// `PATH: REASON`.
  package let description: String

  package init(description: String) { self.description = description }

  /// Creates the error for `path` from the current `errno`.
  package init(_ path: String) { description = "\(path): \(String(errno: errno))" }
}
