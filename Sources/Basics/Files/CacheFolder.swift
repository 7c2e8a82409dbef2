// A cache of files that can be recreated, in a folder that no other user can write to.
internal import Glibc

/// A folder of small files. Failures are silent: a file that can't be read counts as missing.
package struct CacheFolder: Sendable, Equatable {
  package static let suffix = ".bin"

  /// The cache folder of this process. The environment is read once, at first use.
  package static let ofThisProcess: CacheFolder? = CacheBase.ofThisProcess.map { CacheFolder(base: $0) }

  private let base: CacheBase
  private let path: String

  /// Uses the folder `glpreview` in `base`; created on the first write.
  init(base: CacheBase) {
    self.base = base
    path = base.path + "/glpreview"
  }

  /// Returns a file's bytes; nil if it is longer than `limit`, not a regular file, or writable by other
  /// users.
  package func read(_ name: String, limit: Int) -> [UInt8]? {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return nil }
    // O_NONBLOCK, because opening a FIFO would wait for a writer.
    guard let file = folder.file(name, O_RDONLY | O_NONBLOCK), file.isOurs(S_IFREG) else {
      return nil
    }
    return file.contents(limit: limit)
  }

  /// Replaces a file atomically: readers see either the old or the new bytes.
  ///
  /// It is not synced to disk, so readers must detect files truncated by a power failure.
  package func write(_ bytes: [UInt8], to name: String) {
    base.make()
    if base.isOurs { unsafe mkdir(path, 0o700) }
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return }
    let temporary = "\(getpid())-\(UInt64.random(in: 0...(.max)))\(Self.suffix)"
    guard let file = folder.file(temporary, O_WRONLY | O_CREAT | O_EXCL) else { return }
    guard file.write(bytes), unsafe renameat(folder.number, temporary, folder.number, name) == 0 else {
      unsafe unlinkat(folder.number, temporary, 0)
      return
    }
  }

  /// Takes a lock by the name of a file; nil if another user of the folder has it, in this process too, or if the folder
  /// can't be written. It ends with its value, and with the process.
  package func lock(_ name: String) -> CacheLock? {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR),
      let file = folder.file(name, O_RDWR | O_CREAT | O_NONBLOCK), file.isOurs(S_IFREG)
    else { return nil }
    return CacheLock(file)
  }

  /// Removes files, oldest first, until they take at most `size` bytes.
  package func trim(to size: Int) {
    guard let folder = OpenFile(path, O_RDONLY | O_DIRECTORY), folder.isOurs(S_IFDIR) else { return }
    let files = folder.files(endingIn: Self.suffix)
    var excess = files.reduce(0) { $0 + $1.size } - size
    for file in files.sorted(by: { $0.time < $1.time }) where excess > 0 {
      unsafe unlinkat(folder.number, file.name, 0)
      excess -= file.size
    }
  }
}

/// A lock on a file of a `CacheFolder`.
package struct CacheLock: ~Copyable {
  private let file: OpenFile

  fileprivate init?(_ file: consuming OpenFile) {
    guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else { return nil }
    self.file = file
  }
}

/// The folder that holds a cache folder per program.
package struct CacheBase: Sendable, Equatable {
  /// An absolute path.
  package let path: String

  /// The user's cache folder, according to the environment at first use. Nil if there is none, if
  /// `GLPREVIEW_SHADER_CACHE` is `off`, or if the environment may be another user's (setuid).
  package static let ofThisProcess =
    getuid() == geteuid() ? CacheBase { unsafe String(lent: getenv($0)) } : nil

  /// Selects `XDG_CACHE_HOME` (XDG Base Directory Specification), otherwise the folder that systemd gives a
  /// service (systemd.exec, `CacheDirectory=`), otherwise `.cache` in the home folder. Paths that are not
  /// absolute are ignored.
  init?(_ variable: (String) -> String?) {
    func path(_ name: String) -> String? {
      // systemd separates several folders with colons.
      let first = variable(name)?.split(separator: ":", omittingEmptySubsequences: false).first.map(
        String.init)
      let path = name == "CACHE_DIRECTORY" ? first : variable(name)
      return path?.hasPrefix("/") == true ? path : nil
    }
    guard variable("GLPREVIEW_SHADER_CACHE") != "off",
      let path = path("XDG_CACHE_HOME") ?? path("CACHE_DIRECTORY") ?? path("HOME").map({ $0 + "/.cache" })
    else { return nil }
    self.path = path
  }

  /// Creates the folder, but only in an existing folder of this user: under sudo the home may be another
  /// user's.
  package func make() {
    guard unsafe access(path, F_OK) != 0, let end = path.lastIndex(of: "/") else { return }
    guard OpenFile(String(path[...end]), O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true else { return }
    unsafe mkdir(path, 0o700)
  }

  /// Whether the folder exists, belongs to this user and is writable by no other.
  package var isOurs: Bool { OpenFile(path, O_RDONLY | O_DIRECTORY)?.isOurs(S_IFDIR) == true }
}

/// A file descriptor, closed on deinit.
struct OpenFile: ~Copyable {
  let number: CInt

  /// Opens `path` without following a final link. New files are accessible to the user only. Nil if opening
  /// fails.
  init?(_ path: String, _ flags: CInt) { self.init(path, flags, in: AT_FDCWD) }

  private init?(_ name: String, _ flags: CInt, in folder: CInt) {
    number = unsafe openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if number < 0 { return nil }
  }

  borrowing func file(_ name: String, _ flags: CInt) -> OpenFile? { OpenFile(name, flags, in: number) }

  deinit { close(number) }

  /// Returns whether it has type `kind` (`S_IFREG`, `S_IFDIR`), belongs to this user, and is not writable by
  /// group or others.
  borrowing func isOurs(_ kind: mode_t) -> Bool {
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == kind && status.st_uid == geteuid()
      && status.st_mode & (S_IWGRP | S_IWOTH) == 0
  }

  /// Returns all bytes; nil if there are more than `limit`.
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

  borrowing func write(_ bytes: [UInt8]) -> Bool {
    do { try PictureFile.write(bytes, to: number, named: "") } catch { return false }
    return true
  }

  borrowing func files(endingIn suffix: String) -> [(name: String, size: Int, time: Int)] {
    // The stream closes its descriptor, so it gets a duplicate.
    guard let stream = unsafe fdopendir(fcntl(number, F_DUPFD_CLOEXEC, 0)) else { return [] }
    defer { unsafe closedir(stream) }
    unsafe rewinddir(stream)
    var files: [(name: String, size: Int, time: Int)] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe SystemFiles.name(of: entry)
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
