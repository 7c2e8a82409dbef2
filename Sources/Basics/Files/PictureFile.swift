// Writes files atomically: to a temporary file that is then renamed.
internal import Glibc
internal import Synchronization

/// Writes picture files.
package enum PictureFile {
  /// Writes `bytes` to the file at `path`, replacing its content.
  ///
  /// Readers see either the old or the new file, never a partial one. Devices and FIFOs are written in place.
  /// A symbolic link is kept and its target replaced.
  ///
  /// - Throws: `WriteError`; no partial file remains.
  package static func write(_ bytes: [UInt8], to path: String) throws(WriteError) {
    guard !PartialFile.isInPlace(path) else {
      let file = try open(path, O_WRONLY)
      defer { close(file) }
      return try write(bytes, to: file, named: path)
    }
    let file = try PartialFile(for: path)
    try file.append(bytes)
    try file.finish()
  }

  static let unfinished = Mutex<Set<String>>([])

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

  static func open(_ path: String, _ flags: CInt, for name: String? = nil) throws(WriteError) -> CInt {
    let file = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw WriteError(opening: name ?? path, errno) }
    return file
  }
}

/// The error for a picture that could not be written.
public struct WriteError: Error, Hashable, CustomStringConvertible {
  /// The path of the file.
  public let path: String
  /// The system's error message; of a missing folder its name.
  public let reason: String

  package init(_ path: String, _ code: CInt) { self.init(path, String(errno: code)) }

  /// Creates the error of a file that could not be opened; it names the folder if that is missing.
  package init(opening path: String, _ code: CInt) {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let isThere = unsafe folder.isEmpty || access(String(folder), F_OK) == 0
    let isMissing = code == ENOENT && !isThere
    self.init(path, isMissing ? "there is no folder \(folder)" : String(errno: code))
  }

  package init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  /// `PATH: REASON`.
  public var description: String { "\(path): \(reason)" }
}
