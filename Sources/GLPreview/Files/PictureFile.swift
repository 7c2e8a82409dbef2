// Writes files atomically: to a temporary file that is then renamed.
internal import Glibc
internal import Synchronization

/// Writes picture files.
package enum PictureFile {
  /// Writes `bytes` to the file at `path`, replacing its content.
  ///
  /// Readers see either the old or the new file, never a partial one. Devices and FIFOs are written in place. A
  /// symbolic link is kept and its target replaced.
  ///
  /// - Throws: `WriteError`; no partial file remains.
  package static func write(_ bytes: [UInt8], to path: String) throws(WriteError) {
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    if isThere, status.st_mode & S_IFMT != S_IFREG {
      guard status.st_mode & S_IFMT != S_IFDIR else { throw WriteError(path, EISDIR) }
      let file = try open(path, O_WRONLY)
      defer { close(file) }
      return try write(bytes, to: file, named: path)
    }
    let target = resolved(path)
    // A name of its own, because the target's name with a suffix could be too long.
    let folder = target.utf8.lastIndex(of: UInt8(ascii: "/")).map { target[...$0] } ?? ""
    let number = writes.wrappingAdd(1, ordering: .relaxed).newValue
    let temporary = "\(folder).glpreview-\(getpid())-\(number).part"
    let file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, for: path)
    // Keep the permissions of a replaced file, so that the new one is not readable by more users.
    if isThere { _ = fchmod(file, status.st_mode & 0o7777) }
    unfinished.withLock { _ = $0.insert(temporary) }
    defer { unfinished.withLock { _ = $0.remove(temporary) } }
    do {
      try write(bytes, to: file, named: path)
    } catch {
      close(file)
      unsafe unlink(temporary)
      throw error
    }
    // Some file systems report a lack of space only on close.
    guard close(file) == 0, unsafe rename(temporary, target) == 0 else {
      let code = errno
      unsafe unlink(temporary)
      throw WriteError(path, code)
    }
  }

  private static let unfinished = Mutex<Set<String>>([])

  /// Deletes partly written files. Call it before ending the process while other threads may be writing.
  package static func removeUnfinished() {
    unfinished.withLock { for file in $0 { unsafe unlink(file) } }
  }

  /// Writes all of `bytes` to an open file.
  ///
  /// - Throws: `WriteError` with `name` as the path.
  package static func write(_ bytes: [UInt8], to file: CInt, named name: String) throws(WriteError) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(file, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw WriteError(name, errno)
      }
    }
  }

  private static func open(_ path: String, _ flags: CInt, for name: String? = nil) throws(WriteError) -> CInt
  {
    let file = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw WriteError(name ?? path, errno) }
    return file
  }

  /// The target of a symbolic link; any other path unchanged.
  private static func resolved(_ path: String) -> String {
    var status = stat()
    var path = path
    // Not by realpath, because the target need not exist. Linux follows at most 40 links too.
    for _ in 0..<40 {
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { break }
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe readlink(path, &buffer, buffer.count)
      guard count > 0 else { break }
      let destination = String(written: buffer[..<count])
      guard !destination.hasPrefix("/") else {
        path = destination
        continue
      }
      path = (path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "") + destination
    }
    return path
  }

  private static let writes = Atomic<Int>(0)
}

/// The error for a picture that could not be written.
public struct WriteError: Error, Hashable, CustomStringConvertible {
  /// The path of the file.
  public let path: String
  /// The system's error message.
  public let reason: String

  init(_ path: String, _ code: CInt) { self.init(path, String(errno: code)) }

  init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  /// `PATH: REASON`.
  public var description: String { "\(path): \(reason)" }
}
