// A folder that untrusted paths can't leave: not by "..", absolute paths or links.
internal import Glibc

/// Reads and writes files by relative paths that come from the network.
package struct RootFolder: Sendable {
  /// The folder's path, without links.
  package let path: String

  /// Creates a root at `path`; nil if there is no such folder.
  package init?(_ path: String) {
    guard let resolved = SystemFiles.resolved(path), let status = SystemFiles.status(resolved),
      status.st_mode & S_IFMT == S_IFDIR
    else { return nil }
    self.path = resolved
  }

  /// Returns whether `path` is relative, without empty parts, `.` and `..`.
  package static func isRelative(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    return path.utf8.count < Int(PATH_MAX) && path.utf8.allSatisfy { $0 != 0 }
      && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
  }

  /// The reason why a file is not read.
  package enum Refusal: String, Error {
    case notRelative = "is not a relative path without '..'"
    case missing = "No such file or directory"
    case outside = "leads outside the sources folder"
    case notRegular = "is not a regular file"
  }

  /// Returns the path, without links, of a regular file in the folder. Links are followed as long as they
  /// stay inside.
  package func file(_ name: String) throws(Refusal) -> String {
    guard Self.isRelative(name) else { throw .notRelative }
    guard let resolved = SystemFiles.resolved("\(path)/\(name)"), let status = SystemFiles.status(resolved)
    else { throw .missing }
    guard resolved.hasPrefix(path == "/" ? path : path + "/") else { throw .outside }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
    return resolved
  }

  /// Writes a file, replacing an existing one. Missing folders are created.
  ///
  /// Readers see either the old or the new file. Links are not followed: a link among the folders is an
  /// error, and a link in the file's place is replaced. A killed process usually leaves nothing behind. If it
  /// was replacing a file, or if the file system does not support unnamed files, a file named
  /// `.glpreview-*.part` may remain.
  ///
  /// - Throws: `WriteError`.
  package func write(_ bytes: [UInt8], to name: String) throws(WriteError) {
    guard Self.isRelative(name) else { throw WriteError(name, Refusal.notRelative.rawValue) }
    var parts = name.split(separator: "/").map(String.init)
    let last = parts.removeLast()
    guard let root = Descriptor(unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
      throw WriteError(path, errno)
    }
    var folder = root
    for part in parts { folder = try Self.folder(part, in: folder, of: name) }
    try Self.write(bytes, to: last, in: folder, of: name)
  }

  private static func folder(
    _ part: String, in folder: borrowing Descriptor, of name: String
  ) throws(WriteError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    if let found = Descriptor(unsafe openat(folder.number, part, flags)) { return found }
    guard errno == ENOENT else { throw WriteError(name, errno) }
    // Another process may create it at the same time.
    guard unsafe mkdirat(folder.number, part, 0o777) == 0 || errno == EEXIST,
      let made = Descriptor(unsafe openat(folder.number, part, flags))
    else { throw WriteError(name, errno) }
    return made
  }

  private static func write(
    _ bytes: [UInt8], to last: String, in folder: borrowing Descriptor, of name: String
  ) throws(WriteError) {
    let temporary = ".glpreview-\(UInt64.random(in: 0...(.max))).part"
    if let file = Descriptor(unsafe openat(folder.number, ".", unnamed | O_WRONLY | O_CLOEXEC, 0o666)) {
      try PictureFile.write(bytes, to: file.number, named: name)
      let link = "/proc/self/fd/\(file.number)"
      if unsafe linkat(AT_FDCWD, link, folder.number, last, AT_SYMLINK_FOLLOW) == 0 { return }
      // A file exists already, and only a rename replaces it.
      guard errno == EEXIST,
        unsafe linkat(AT_FDCWD, link, folder.number, temporary, AT_SYMLINK_FOLLOW) == 0
      else { throw WriteError(name, errno) }
    } else {
      // The file system does not support unnamed files.
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      guard let file = Descriptor(unsafe openat(folder.number, temporary, flags, 0o666)) else {
        throw WriteError(name, errno)
      }
      do throws(WriteError) {
        try PictureFile.write(bytes, to: file.number, named: name)
      } catch {
        unsafe unlinkat(folder.number, temporary, 0)
        throw error
      }
    }
    guard unsafe renameat(folder.number, temporary, folder.number, last) == 0 else {
      let code = errno
      unsafe unlinkat(folder.number, temporary, 0)
      throw WriteError(name, code)
    }
  }

  /// `O_TMPFILE`, which Glibc's module lacks.
  private static let unnamed: CInt = 0o20_000_000 | O_DIRECTORY

  /// An open file, closed on deinit.
  private struct Descriptor: ~Copyable {
    let number: CInt

    init?(_ number: CInt) {
      guard number >= 0 else { return nil }
      self.number = number
    }

    deinit { close(number) }
  }
}
