// A file or folder that is open: what is asked of it is asked of that one, whatever has its name by then.
internal import Glibc

/// A descriptor, closed with its owner.
struct OpenFile: ~Copyable {
  let number: CInt

  /// Follows no symbolic link at the end of `path`. What is made is the user's alone. Nil where the system refuses.
  init?(_ path: String, _ flags: CInt) { self.init(path, flags, in: AT_FDCWD) }

  private init?(_ name: String, _ flags: CInt, in folder: CInt) {
    number = unsafe openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if number < 0 { return nil }
  }

  /// The same for a name in this folder.
  borrowing func file(_ name: String, _ flags: CInt) -> OpenFile? { OpenFile(name, flags, in: number) }

  deinit { close(number) }

  /// Whether it is of a kind (`S_IFREG`, `S_IFDIR`), belongs to this user, and neither group nor others may write to it.
  borrowing func isOurs(_ kind: mode_t) -> Bool {
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == kind && status.st_uid == geteuid()
      && status.st_mode & (S_IWGRP | S_IWOTH) == 0
  }

  /// All of it; nil where that is more than `limit` bytes.
  borrowing func contents(limit: Int) -> [UInt8]? {
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_size <= limit else { return nil }
    // One more than there should be: who writes to it meanwhile is found out.
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
    var count = 0
    while count < bytes.count {
      let more = unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe read(number, bytes.baseAddress.map { unsafe $0 + count }, bytes.count - count)
      }
      guard more >= 0 || errno == EINTR else { return nil }
      if more == 0 { break }
      count += max(0, more)
    }
    return count == bytes.count - 1 ? Array(bytes.dropLast()) : nil
  }

  /// Whether all of `bytes` could be written.
  borrowing func write(_ bytes: [UInt8]) -> Bool {
    do { try PictureFile.write(bytes, to: number, named: "") } catch { return false }
    return true
  }

  /// A folder's plain files.
  borrowing func files(endingIn suffix: String) -> [(name: String, size: Int, time: Int)] {
    // The stream closes the descriptor that it is given.
    guard let stream = unsafe fdopendir(fcntl(number, F_DUPFD_CLOEXEC, 0)) else { return [] }
    defer { unsafe closedir(stream) }
    unsafe rewinddir(stream)
    var files: [(name: String, size: Int, time: Int)] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      var status = stat()
      guard name.hasSuffix(suffix), unsafe fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      files.append(
        (name, Int(status.st_size), status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec))
    }
    return files
  }
}

@available(*, unavailable) extension OpenFile: Sendable {}
