// A file that is whole or not there: written beside its place and then renamed into it.
internal import Glibc
internal import Synchronization

/// Writes files of pictures.
public enum PictureFile {
  /// Puts `bytes` into the file at `path`, in place of what was there.
  ///
  /// Readers see the old file or the new one, never half of one. What is no regular file (a device, a FIFO) is
  /// written to as it is; a symbolic link stays, and what it leads to is replaced.
  ///
  /// - Throws: `WriteError`; nothing is left behind then.
  public static func write(_ bytes: [UInt8], to path: String) throws(WriteError) {
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    if isThere, status.st_mode & S_IFMT != S_IFREG {
      guard status.st_mode & S_IFMT != S_IFDIR else { throw WriteError(path, EISDIR) }
      let file = try open(path, O_WRONLY)
      defer { close(file) }
      return try write(bytes, to: file, named: path)
    }
    let target = resolved(path)
    // Not the target's name with something behind it: that may be too long for a name.
    let folder = target.utf8.lastIndex(of: UInt8(ascii: "/")).map { target[...$0] } ?? ""
    let temporary = "\(folder).glpreview-\(getpid())-\(nextNumber()).part"
    let file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, for: path)
    // Who could not read the old picture must not read the new one.
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
    // Some file systems tell only now that there was no room.
    guard close(file) == 0, unsafe rename(temporary, target) == 0 else {
      let code = errno
      unsafe unlink(temporary)
      throw WriteError(path, code)
    }
  }

  /// Files that are being written, under their temporary names.
  private static let unfinished = Mutex<Set<String>>([])

  /// Removes what is half written: for who is about to end the process while another thread may be writing.
  public static func removeUnfinished() {
    unfinished.withLock { for file in $0 { unsafe unlink(file) } }
  }

  /// Writes all of `bytes` to an open file.
  ///
  /// - Throws: `WriteError` that calls the file `name`.
  public static func write(_ bytes: [UInt8], to file: CInt, named name: String) throws(WriteError) {
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

  /// Where a symbolic link leads to; any other path as it is.
  private static func resolved(_ path: String) -> String {
    var status = stat()
    var path = path
    // By hand, not by realpath: what a link leads to need not be there yet. As many as Linux follows.
    for _ in 0..<40 {
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { break }
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe readlink(path, &buffer, buffer.count)
      guard count > 0 else { break }
      let destination = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard !destination.hasPrefix("/") else {
        path = destination
        continue
      }
      path = (path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "") + destination
    }
    return path
  }

  private static let numbers = Atomic<Int>(0)

  /// Files that are written at the same time have temporary names of their own.
  private static func nextNumber() -> Int { numbers.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// A picture that could not be written.
public struct WriteError: Error, Hashable, CustomStringConvertible {
  /// Where to.
  public let path: String
  /// What the system says.
  public let reason: String

  init(_ path: String, _ code: CInt) { self.init(path, unsafe String(cString: strerror(code))) }

  init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  /// `PATH: REASON`.
  public var description: String { "\(path): \(reason)" }
}
