// Open files that are read and written on threads that may wait for a disk.
internal import Dispatch
internal import Glibc

/// An open file. It is closed when its last holder releases it.
package final class DiskFile: Sendable {
  private let descriptor: CInt

  /// Takes over a descriptor.
  package init(_ descriptor: CInt) { self.descriptor = descriptor }

  /// Creates a file without a name, which no other user can open and which is removed when it is closed. It is
  /// in the file system of `folder`, or, if that supports no such files, in the folder of temporary files.
  ///
  /// - Throws: `DiskError` if neither is possible.
  package convenience init(unnamedIn folder: String) throws(DiskError) {
    var file = unsafe open(folder, Self.unnamed | O_RDWR | O_CLOEXEC, 0o600)
    if file < 0 { file = Self.openTemporary() }
    guard file >= 0 else { throw DiskError(errno) }
    self.init(file)
  }

  deinit { close(descriptor) }

  /// `O_TMPFILE`, which Glibc's module lacks.
  private static let unnamed: CInt = 0o20_000_000 | O_DIRECTORY

  /// Creates a file in the folder of temporary files, and removes its name; returns a negative number if that
  /// fails.
  private static func openTemporary() -> CInt {
    let folder = unsafe String(lent: getenv("TMPDIR")).flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    let path = "\(folder)/.glpreview-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).part"
    let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if file >= 0 { unsafe unlink(path) }
    return file
  }

  /// Reads up to `count` bytes from `offset` on: fewer at the end of the file, and where it can't be read.
  package func read(_ offset: Int, _ count: Int) async -> [UInt8] {
    await onDiskThread { [self] in Self.read(descriptor, offset, count) }
  }

  /// Does work that reads the file again and again, on one thread that may wait for a disk. `read` reads up to
  /// `count` bytes from `offset` on, and fewer where it can't.
  package func withReading<Result: Sendable>(
    _ work: @escaping @Sendable (_ read: (_ offset: Int, _ count: Int) -> [UInt8]) -> Result
  ) async -> Result {
    await onDiskThread { [self] in work { Self.read(descriptor, $0, $1) } }
  }

  /// Returns the sizes of its file system in bytes: of all of it, and of the part that this process may still
  /// use; nil if they are not known.
  package func space() async -> (total: Double, free: Double)? {
    await onDiskThread { [self] () -> (total: Double, free: Double)? in
      var status = statvfs()
      guard unsafe fstatvfs(descriptor, &status) == 0 else { return nil }
      let unit = Double(status.f_frsize)
      return (Double(status.f_blocks) * unit, Double(status.f_bavail) * unit)
    }
  }

  /// Writes all of `bytes` at `offset`.
  ///
  /// - Throws: `DiskError`.
  package func write(_ bytes: [UInt8], at offset: Int) async throws(DiskError) {
    let code = await onDiskThread { [self] in Self.write(bytes, at: offset, to: descriptor) }
    guard code == 0 else { throw DiskError(code) }
  }

  /// Reads up to `count` bytes of a file on the calling thread.
  package static func read(_ descriptor: CInt, _ offset: Int, _ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = unsafe pread(
          descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, offset + filled)
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { break }
        filled += got
      }
    }
  }

  /// Writes all of `bytes` at `offset` of a file on the calling thread. Returns 0, or `errno`.
  package static func write(_ bytes: [UInt8], at offset: Int, to descriptor: CInt) -> CInt {
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe pwrite(
          descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done, offset + done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count < 0 ? errno : ENOSPC }
        done += count
      }
      return 0
    }
  }
}

/// The error of a file that can't be created or written.
package struct DiskError: Error, Hashable, CustomStringConvertible {
  /// The system's `errno`.
  package let code: CInt

  package init(_ code: CInt) { self.code = code }

  /// Whether the disk, or the share of the service's user, is full.
  package var isFull: Bool { code == ENOSPC || code == EDQUOT }

  package var description: String { String(errno: code) }
}

/// Runs `work`, which may wait for a disk, on a thread that no other task needs.
package func onDiskThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    DispatchQueue.global(qos: .userInitiated).async { continuation.resume(returning: work()) }
  }
}
