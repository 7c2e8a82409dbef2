// Bytes from a file descriptor: a file, a pipe, standard input. Every file source reads through one of these,
// so that limits, short reads, signals and cancellation are dealt with once.
internal import Glibc
internal import PreviewCore

/// Buffered reads. Bytes that were peeked at are read again afterwards.
struct ByteStream: ~Copyable {
  /// For messages.
  let path: String
  /// Whether it can be started again, and its size is known.
  let isRegularFile: Bool

  private static let bufferSize = 64 << 10
  private let descriptor: CInt
  private let ownsDescriptor: Bool
  private let start: off_t
  private let size: Int
  /// `buffer[position...]` is read from the descriptor, but not yet from us.
  private var buffer: [UInt8] = []
  private var position = 0

  /// Opens a file, a FIFO or a device at `path`.
  init(opening path: String) throws(SourceError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SourceError(.badRequest, path: path, reason: "not a path")
    }
    // Without O_NONBLOCK, opening a FIFO waits for its writer, and nothing can cancel that.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
    try self.init(path: path, descriptor: descriptor, ownsDescriptor: true)
  }

  /// Standard input, called `-`.
  static func standardInput() throws(SourceError) -> ByteStream {
    try ByteStream(path: "-", descriptor: STDIN_FILENO, ownsDescriptor: false)
  }

  /// What can be read from `descriptor`, which is closed at the end.
  init(owning descriptor: CInt, path: String) throws(SourceError) {
    try self.init(path: path, descriptor: descriptor, ownsDescriptor: true)
  }

  private init(path: String, descriptor: CInt, ownsDescriptor: Bool) throws(SourceError) {
    var status = stat()
    let result = unsafe fstat(descriptor, &status)
    let code = errno
    self.path = path
    self.descriptor = descriptor
    self.ownsDescriptor = ownsDescriptor
    let isRegular = result == 0 && status.st_mode & S_IFMT == S_IFREG
    start = isRegular ? max(lseek(descriptor, 0, SEEK_CUR), 0) : 0
    isRegularFile = isRegular
    size = isRegular ? Int(status.st_size) : 0
    guard result == 0 else { throw Self.failure(path, code) }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw SourceError(.unreadable, path: path, reason: "is a directory")
    // What the process opened for itself: it gets number 0 where standard input was closed.
    case 0: throw SourceError(.unreadable, path: path, reason: "is closed")
    default: break
    }
  }

  deinit {
    if ownsDescriptor { _ = close(descriptor) }
  }

  private static func failure(_ path: String, _ code: CInt) -> SourceError {
    switch code {
    case ENOENT, ENOTDIR: SourceError(.notFound, path: path, reason: "no such file")
    case EACCES, EPERM: SourceError(.unreadable, path: path, reason: "no permission to read it")
    case EBADF: SourceError(.unreadable, path: path, reason: "is closed")
    default: SourceError(.unreadable, path: path, reason: unsafe String(cString: strerror(code)))
    }
  }

  /// Bytes from here to the end of a regular file; nil for a stream. A file that grows has more.
  var remainingByteCount: Int? {
    guard isRegularFile else { return nil }
    let offset = lseek(descriptor, 0, SEEK_CUR)
    return max(size - Int(offset), 0) + buffer.count - position
  }

  /// The next bytes without moving on: `count` of them, or all that there are. Waits for them.
  mutating func peek(_ count: Int) throws -> [UInt8] {
    while buffer.count - position < count, try refill() {}
    return Array(buffer[position...].prefix(count))
  }

  /// The next `byteCount` bytes in memory of a pool, and how many there are really.
  mutating func readFrame(_ byteCount: Int, _ memory: FramePool) throws -> (FrameBytes, count: Int) {
    // No memory for a frame that is known not to come.
    if let remaining = remainingByteCount, remaining < byteCount {
      return (FrameBytes([]), try readAll().count)
    }
    let buffer = try memory.take(byteCount)
    let count = try read(into: buffer)
    return (FrameBytes(buffer), count)
  }

  /// The next bytes as far as `buffer` holds them, or all that there are; how many that is.
  mutating func read(into buffer: FrameBuffer) throws -> Int {
    let waiting = buffer.byteCount == 0 ? [] : self.buffer[position...].prefix(buffer.byteCount)
    unsafe buffer.write { unsafe $0.copyBytes(from: waiting) }
    position += waiting.count
    var filled = waiting.count
    while filled < buffer.byteCount {
      // Nobody waits for bytes while the buffer's owner may wait for us.
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

  /// All bytes from here on; nil where there are more than `limit`.
  mutating func readAll(limit: Int) throws -> [UInt8]? {
    if let remaining = remainingByteCount, remaining > limit { return nil }
    while try refill() {
      guard buffer.count - position <= limit else { return nil }
    }
    defer { drop(buffer.count - position) }
    return Array(buffer[position...])
  }

  private mutating func readAll() throws -> [UInt8] {
    try readAll(limit: .max) ?? []
  }

  /// The next line without its newline: nil where there is no newline within `limit` bytes or before the end.
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

  /// Shows `body` what is there, waiting for some; it says how many bytes it has taken. False at the end.
  mutating func take<E: Error>(_ body: (ArraySlice<UInt8>) throws(E) -> Int) throws -> Bool {
    if position == buffer.count, try !refill() { return false }
    drop(try body(buffer[position...]))
    return true
  }

  /// Starts again where the stream was opened.
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

  /// Adds to the buffer; false at the end.
  private mutating func refill() throws -> Bool {
    if position > 0 {
      buffer.removeFirst(position)
      position = 0
    }
    var failure: (any Error)?
    let more = unsafe [UInt8](unsafeUninitializedCapacity: Self.bufferSize) { target, filled in
      do {
        filled = try unsafe fill(UnsafeMutableRawBufferPointer(target))
      } catch { failure = error }
    }
    if let failure { throw failure }
    buffer += more
    return !more.isEmpty
  }

  /// One read; 0 at the end.
  private borrowing func fill(_ target: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      if !isRegularFile { try waitForBytes() }
      if let count = try unsafe fillAtOnce(target) { return count }
    }
  }

  /// One read; 0 at the end, nil where it has to be tried again.
  private borrowing func fillAtOnce(_ target: UnsafeMutableRawBufferPointer) throws -> Int? {
    let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
    if count >= 0 { return count }
    let code = errno
    guard code == EINTR || code == EAGAIN else { throw Self.failure(path, code) }
    return nil
  }

  /// Until there is something to read, or the end; looks every tenth of a second whether it is still wanted.
  private borrowing func waitForBytes() throws {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      try Task.checkCancellation()
      let count = unsafe poll(&waiting, 1, 100)
      if count > 0 || (count < 0 && errno != EINTR) { return }
    }
  }
}
