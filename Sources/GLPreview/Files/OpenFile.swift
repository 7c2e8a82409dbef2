// An open file or folder. Operations act on its descriptor, even if its name is replaced meanwhile.
internal import Glibc

/// A file descriptor, closed on deinit.
struct OpenFile: ~Copyable {
  let number: CInt

  /// Opens `path` without following a final symbolic link. New files are accessible to the user only. Nil if opening
  /// fails.
  init?(_ path: String, _ flags: CInt) { self.init(path, flags, in: AT_FDCWD) }

  private init?(_ name: String, _ flags: CInt, in folder: CInt) {
    number = unsafe openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if number < 0 { return nil }
  }

  /// Opens a file in this folder in the same way.
  borrowing func file(_ name: String, _ flags: CInt) -> OpenFile? { OpenFile(name, flags, in: number) }

  deinit { close(number) }

  /// Whether it has type `kind` (`S_IFREG`, `S_IFDIR`), belongs to this user, and is not writable by group or others.
  borrowing func isOurs(_ kind: mode_t) -> Bool {
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == kind && status.st_uid == geteuid()
      && status.st_mode & (S_IWGRP | S_IWOTH) == 0
  }

  /// All bytes; nil if there are more than `limit`.
  borrowing func contents(limit: Int) -> [UInt8]? {
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_size <= limit else { return nil }
    // Read one byte more than expected, to detect a file that grows meanwhile.
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

  /// Writes `bytes`. Returns whether all of them were written.
  borrowing func write(_ bytes: [UInt8]) -> Bool {
    do { try PictureFile.write(bytes, to: number, named: "") } catch { return false }
    return true
  }

  /// The regular files in this folder.
  borrowing func files(endingIn suffix: String) -> [(name: String, size: Int, time: Int)] {
    // The stream closes its descriptor, so it gets a duplicate.
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
