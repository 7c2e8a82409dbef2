// Paths in a configuration. They are resolved once, when they are read, so that no link or `..` is followed
// later.
internal import FoundationEssentials
internal import Glibc

enum ConfigurationPaths {
  /// Resolves `.`, `..` and links in `path` as far as it exists, and appends the rest unchanged. Relative
  /// paths refer to `folder`, which is absolute.
  static func resolved(_ path: String, in folder: String) throws(ParameterError) -> String {
    guard !path.isEmpty else { throw ParameterError("the path is empty") }
    guard !path.utf8.contains(0) else { throw ParameterError("a path must not contain zero bytes") }
    var resolved = ""
    for part in (path.hasPrefix("/") ? path : folder + "/" + path).split(separator: "/") where part != "." {
      let next = "\(resolved)/\(part)"
      if let real = SystemFiles.resolved(next) {
        resolved = real == "/" ? "" : real
      } else if part == ".." {
        // A `..` after a missing folder only removes that component. After an existing file it is an error.
        guard SystemFiles.resolved(resolved) == nil else {
          throw ParameterError("'\(path)': '..' follows a file")
        }
        resolved = String(resolved[..<(resolved.lastIndex(of: "/") ?? resolved.startIndex)])
      } else {
        resolved = next
      }
    }
    return resolved.isEmpty ? "/" : resolved
  }

  /// Returns the resolved path of a readable file.
  static func file(_ path: String, in folder: String) throws(ParameterError) -> String {
    let resolved = try resolved(path, in: folder)
    guard unsafe access(resolved, R_OK) == 0 else { throw ParameterError("'\(path)': \(reason(errno))") }
    guard !isFolder(resolved) else { throw ParameterError("'\(path)': is a folder") }
    return resolved
  }

  /// Reads a secret from a file, without trailing line breaks.
  ///
  /// - Throws: `ParameterError` without the path, because the path itself may be a secret given by mistake.
  static func secret(_ path: String, in folder: String) throws(ParameterError) -> String {
    do throws(ParameterError) {
      let file = try file(path, in: folder)
      let text = try text(of: file, limit: 64 << 10)
      guard let end = text.lastIndex(where: { !$0.isNewline }) else { throw ParameterError("is empty") }
      return String(text[...end])
    } catch {
      throw ParameterError("\(error.description.replacing("'\(path)': ", with: ""))")
    }
  }

  /// Reads a UTF-8 file of at most `limit` bytes.
  static func text(of path: String, limit: Int) throws(ParameterError) -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ParameterError("\(reason(errno))") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ParameterError("\(reason(errno))") }
      guard count > 0 else { break }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw ParameterError("has more than \(limit) bytes") }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ParameterError("is not UTF-8")
    }
    // Some editors write a byte order mark at the beginning.
    return text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
  }

  private static func isFolder(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
  }

  private static func reason(_ number: Int32) -> String {
    switch number {
    case ENOENT: "no such file"
    case EACCES, EPERM: "permission denied"
    case EISDIR: "is a folder"
    case let other: "can't be read: " + String(errno: other)
    }
  }
}
