// Reads bytes from a file descriptor: a file, a pipe or standard input. All file sources read through this
// type, so that limits, short reads, signals and cancellation are handled in one place.
internal import Glibc

/// Buffered reads. Peeked bytes are returned again by the next read.
struct ByteStream: ~Copyable {
  let path: String
  /// Whether it can be rewound and its size is known.
  let isRegularFile: Bool

  private static let bufferSize = 64 << 10
  private let descriptor: CInt
  private let isOwned: Bool
  private let start: off_t
  private let size: Int
  /// `buffer[position...]` has been read from the descriptor but not returned yet.
  private var buffer: [UInt8] = []
  private var position = 0

  /// Opens a file, a FIFO or a device at `path`, or standard input for `-`.
  init(opening path: String) throws(SourceError) {
    if path == "-" {
      try self.init(STDIN_FILENO, path: path, isOwned: false)
      return
    }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SourceError(.badRequest, path: path, reason: "not a path")
    }
    // Without O_NONBLOCK, opening a FIFO waits for its writer and can't be cancelled.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
    try self.init(descriptor, path: path)
  }

  /// Reads from `descriptor`, and closes it on release if it is owned.
  init(_ descriptor: CInt, path: String, isOwned: Bool = true) throws(SourceError) {
    var status = stat()
    let result = unsafe fstat(descriptor, &status)
    let code = errno
    self.path = path
    self.descriptor = descriptor
    self.isOwned = isOwned
    let isRegular = result == 0 && status.st_mode & S_IFMT == S_IFREG
    start = isRegular ? max(lseek(descriptor, 0, SEEK_CUR), 0) : 0
    isRegularFile = isRegular
    size = isRegular ? Int(status.st_size) : 0
    guard result == 0 else { throw Self.failure(path, code) }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw SourceError(.unreadable, path: path, reason: "is a directory")
    // A descriptor that the process opened for itself; it has number 0 if standard input was closed.
    case 0: throw SourceError(.unreadable, path: path, reason: "is closed")
    default: break
    }
  }

  deinit {
    if isOwned { _ = close(descriptor) }
  }

  private static func failure(_ path: String, _ code: CInt) -> SourceError {
    switch code {
    case ENOENT, ENOTDIR: SourceError(.notFound, path: path, reason: "no such file")
    case EACCES, EPERM: SourceError(.unreadable, path: path, reason: "no permission to read it")
    case EBADF: SourceError(.unreadable, path: path, reason: "is closed")
    default: SourceError(.unreadable, path: path, reason: String(errno: code))
    }
  }

  /// The bytes from the current position to the end of a regular file; nil for a stream. A growing file may
  /// have more.
  var remainingByteCount: Int? {
    guard isRegularFile else { return nil }
    let offset = lseek(descriptor, 0, SEEK_CUR)
    return max(size - Int(offset), 0) + buffer.count - position
  }

  /// Waits for the next `count` bytes, or for the end, and returns the bytes without consuming them.
  mutating func peek(_ count: Int) throws -> [UInt8] {
    while buffer.count - position < count, try refill() {}
    return Array(buffer[position...].prefix(count))
  }

  /// Calls `parse` with the next bytes, and again with more bytes each time, until it returns a result.
  /// Consumes nothing. `seen` is the number of bytes that `parse` got before. Returns nil at the end, and
  /// after `limit` bytes.
  mutating func search<Found>(
    limit: Int, _ parse: (_ bytes: ArraySlice<UInt8>, _ seen: Int) -> Found?
  ) throws -> Found? {
    var seen = 0
    while true {
      let waiting = buffer[position...].prefix(limit)
      if let found = parse(waiting, seen) { return found }
      seen = waiting.count
      guard seen < limit, try refill() else { return nil }
    }
  }

  /// Consumes peeked bytes.
  mutating func skip(_ count: Int) { drop(min(count, buffer.count - position)) }

  /// Reads the next `byteCount` bytes into memory of a pool; `count` is the number of bytes actually read.
  mutating func readFrame(_ byteCount: Int, _ memory: FramePool) throws -> (FrameBytes, count: Int) {
    // Doesn't allocate memory for a frame that is known to be incomplete.
    if let remaining = remainingByteCount, remaining < byteCount {
      return (FrameBytes([]), try readAll(limit: .max)?.count ?? 0)
    }
    let buffer = try memory.take(byteCount)
    let count = try read(into: buffer)
    return (FrameBytes(buffer), count)
  }

  /// Fills `buffer` with the next bytes, up to the end; returns their number.
  mutating func read(into buffer: FrameBuffer) throws -> Int {
    let waiting = buffer.byteCount == 0 ? [] : self.buffer[position...].prefix(buffer.byteCount)
    unsafe buffer.write { unsafe $0.copyBytes(from: waiting) }
    position += waiting.count
    var filled = waiting.count
    while filled < buffer.byteCount {
      // Waits for bytes outside `write`, because the buffer's owner may wait for `write` to end.
      if !isRegularFile { try waitForBytes() }
      let more = try unsafe buffer.write { target in
        try unsafe fillAtOnce(UnsafeMutableRawBufferPointer(rebasing: target[filled...]))
      }
      guard let more else { continue }
      guard more > 0 else { break }
      filled += more
    }
    return filled
  }

  /// Returns all bytes up to the end; nil if there are more than `limit`. `lease` grows to the memory that
  /// copying them needs.
  mutating func readAll(limit: Int, holding lease: MemoryLease? = nil) throws -> [UInt8]? {
    if let remaining = remainingByteCount {
      if remaining > limit { return nil }
      try lease?.resize(to: 2 * remaining)
    }
    while try refill() {
      let count = buffer.count - position
      guard count <= limit else { return nil }
      if let lease, lease.byteCount < 2 * count { try lease.resize(to: 4 * count) }
    }
    defer { drop(buffer.count - position) }
    return Array(buffer[position...])
  }

  /// Returns the next line without its newline; nil if there is no newline within `limit` bytes or before the
  /// end.
  mutating func readLine(limit: Int) throws -> [UInt8]? {
    var searched = 0
    while true {
      let waiting = buffer[position...].prefix(limit)
      if let end = waiting.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
        defer { drop(end + 1 - position) }
        return Array(buffer[position..<end])
      }
      searched = waiting.count
      guard searched < limit, try refill() else { return nil }
    }
  }

  /// Waits for bytes and passes them to `body`, which returns how many it consumed. False at the end.
  mutating func take<E: Error>(_ body: (ArraySlice<UInt8>) throws(E) -> Int) throws -> Bool {
    if position == buffer.count, try !refill() { return false }
    drop(try body(buffer[position...]))
    return true
  }

  /// Rewinds to the offset at which the stream was opened.
  mutating func rewind() throws(SourceError) {
    guard isRegularFile, lseek(descriptor, start, SEEK_SET) == start else {
      throw SourceError(.badRequest, path: path, reason: "is a stream and can't be played again")
    }
    drop(buffer.count - position)
  }

  private mutating func drop(_ count: Int) {
    position += count
    guard position == buffer.count else { return }
    buffer.removeAll(keepingCapacity: buffer.count <= Self.bufferSize)
    position = 0
  }

  /// Reads more bytes into the buffer; false at the end.
  private mutating func refill() throws -> Bool {
    if position > 0 {
      buffer.removeFirst(position)
      position = 0
    }
    let more = try unsafe [UInt8](unsafeUninitializedCapacity: Self.bufferSize) { target, filled in
      filled = try unsafe fill(UnsafeMutableRawBufferPointer(target))
    }
    buffer += more
    return !more.isEmpty
  }

  /// Waits for bytes and reads once; returns 0 at the end.
  private borrowing func fill(_ target: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      if !isRegularFile { try waitForBytes() }
      if let count = try unsafe fillAtOnce(target) { return count }
    }
  }

  /// Reads once; returns 0 at the end, nil if the read must be repeated.
  private borrowing func fillAtOnce(_ target: UnsafeMutableRawBufferPointer) throws -> Int? {
    let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
    if count >= 0 { return count }
    let code = errno
    guard code == EINTR || code == EAGAIN else { throw Self.failure(path, code) }
    return nil
  }

  /// Waits for bytes or the end. Checks for cancellation every 100 ms.
  private borrowing func waitForBytes() throws {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      try Task.checkCancellation()
      let count = unsafe poll(&waiting, 1, 100)
      if count > 0 || (count < 0 && errno != EINTR) { return }
    }
  }
}
