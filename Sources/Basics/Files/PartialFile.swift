// A file that is written under a temporary name, and renamed when it is complete.
internal import Glibc
internal import Synchronization

/// A file that appears under its own name only when it is finished.
package final class PartialFile: Sendable {
  private let path: String
  private let target: String
  private let temporary: String
  private let file: CInt
  private let isOver = Atomic(false)

  /// Opens a temporary file beside `path`.
  package init(for path: String) throws(WriteError) {
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    guard !isThere || status.st_mode & S_IFMT != S_IFDIR else { throw WriteError(path, EISDIR) }
    self.path = path
    let target = Self.resolved(path)
    self.target = target
    // A name of its own, because the target's name with a suffix could be too long.
    let folder = target.utf8.lastIndex(of: UInt8(ascii: "/")).map { target[...$0] } ?? ""
    let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
    temporary = "\(folder).glpreview-\(getpid())-\(number).part"
    file = try PictureFile.open(temporary, O_RDWR | O_CREAT | O_EXCL, for: path)
    PictureFile.unfinished.withLock { [temporary] in _ = $0.insert(temporary) }
    // Keep the permissions of a replaced file, so that the new one is not readable by more users.
    if isThere { _ = fchmod(file, status.st_mode & 0o7777) }
  }

  deinit { remove() }

  /// Removes the file unless it is finished. Nothing may be appended afterwards.
  package func remove() {
    if !isOver.exchange(true, ordering: .relaxed) {
      close(file)
      unsafe unlink(temporary)
    }
    PictureFile.unfinished.withLock { _ = $0.remove(temporary) }
  }

  /// Returns whether `path` exists and is written in place: neither a regular file nor a folder, such as a
  /// device or a FIFO.
  package static func isInPlace(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  package func append(_ bytes: [UInt8]) throws(WriteError) {
    try PictureFile.write(bytes, to: file, named: path)
  }

  /// Appends all of another file.
  package func append(contentsOf other: PartialFile) throws(WriteError) {
    guard lseek(other.file, 0, SEEK_SET) == 0 else { throw WriteError(path, errno) }
    while true {
      let count = sendfile(file, other.file, nil, 16 << 20)
      if count == 0 { return }
      guard count > 0 || errno == EINTR else { throw WriteError(path, errno) }
    }
  }

  /// Renames the file to its own name. Nothing may be appended afterwards.
  package func finish() throws(WriteError) {
    isOver.store(true, ordering: .relaxed)
    // Some file systems report a lack of space only on close.
    guard close(file) == 0, unsafe rename(temporary, target) == 0 else {
      let code = errno
      unsafe unlink(temporary)
      throw WriteError(path, code)
    }
  }

  /// Returns the target of a symbolic link; any other path unchanged.
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

  private static let count = Atomic<Int>(0)
}
