// Memory for frames, used again and again: a stream of frames takes as much as a few of them, however long it is.
internal import PreviewCore
internal import Synchronization

/// Lends memory to frames. A source fills it, the last holder of the frame lets it go, the next frame has it.
///
/// A renderer that draws frames of the pool may add memory of the GPU's to it: what is made in that need not be uploaded.
public final class FramePool: Sendable {
  private let state = Mutex(State())

  private struct State {
    var idle: [FrameMemory] = []
    /// What the last frame took.
    var byteCount = 0
  }

  /// What is idle beyond this many is let go, the longest unused first.
  private static let capacity = 7

  /// An empty pool.
  public init() {}

  /// The size of the frames that are being made, in bytes; 0 before the first.
  var byteCount: Int { state.withLock { $0.byteCount } }

  /// Memory of `byteCount` bytes, the GPU's if there is some; what is in it at first is not defined.
  func take(_ byteCount: Int) -> FrameBuffer {
    let found = state.withLock { state in
      if state.byteCount != byteCount { state.idle.removeAll() }
      state.byteCount = byteCount
      let index = state.idle.lastIndex { $0.isLent } ?? state.idle.indices.last
      return index.map { state.idle.remove(at: $0) }
    }
    return FrameBuffer(found ?? FrameMemory(byteCount: byteCount), of: self)
  }

  /// Adds memory that nobody holds, or drops it where frames have another size by now.
  func add(_ memory: FrameMemory) {
    state.withLock { state in
      guard memory.byteCount == state.byteCount else { return }
      state.idle.append(memory)
      if state.idle.count > FramePool.capacity {
        state.idle.remove(at: state.idle.firstIndex { !$0.isLent } ?? 0)
      }
    }
  }

  /// Drops what is idle.
  func removeAll() { state.withLock { $0.idle.removeAll() } }
}

extension FramePool: Hashable {
  /// A pool is equal to itself alone.
  public static func == (a: FramePool, b: FramePool) -> Bool { a === b }

  /// By identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Memory that one frame has. Written by its source; then it does not change until the frame is gone.
final class FrameBuffer: LentMemory {
  let memory: FrameMemory
  private let pool: FramePool

  fileprivate init(_ memory: FrameMemory, of pool: FramePool) {
    self.memory = memory
    self.pool = pool
  }

  deinit { pool.add(memory) }

  var byteCount: Int { memory.byteCount }

  var array: [UInt8] { memory.array }

  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    try memory.withSpan(body)
  }

  /// Lets `body` write; a renderer that lent the memory and is closed waits for it.
  @unsafe func write<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe memory.write(body)
  }
}

/// Bytes of the process's, or of a buffer of the GPU's for as long as that lives.
final class FrameMemory: Sendable {
  let byteCount: Int
  private let content: Mutex<Content>

  private enum Content: Sendable {
    case own([UInt8])
    case lent(LentBytes)
  }

  /// Somebody else's bytes; who has them sees to it that they live, and the lock that one at a time is at them.
  private struct LentBytes {
    private let address: UInt
    private let count: Int

    init(_ bytes: UnsafeMutableRawBufferPointer) {
      address = UInt(bitPattern: bytes.baseAddress)
      count = bytes.count
    }

    var all: UnsafeMutableRawBufferPointer {
      unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: count)
    }
  }

  /// Bytes of its own; what is in them is not defined.
  init(byteCount: Int) {
    self.byteCount = byteCount
    // Not filled: a header may promise more than ever comes.
    content = unsafe Mutex(.own([UInt8](unsafeUninitializedCapacity: byteCount) { $1 = byteCount }))
  }

  /// Memory that lives until `detach()`.
  @unsafe init(lending memory: UnsafeMutableRawBufferPointer) {
    self.byteCount = memory.count
    content = unsafe Mutex(.lent(LentBytes(memory)))
  }

  /// Whether the bytes are somebody else's.
  var isLent: Bool {
    content.withLock { if case .lent = $0 { true } else { false } }
  }

  /// Copies what is lent, so that the lender may end; waits for who is reading or writing.
  func detach() {
    content.withLock { content in
      if case .lent(let bytes) = content { content = unsafe .own([UInt8](bytes.all)) }
    }
  }

  var array: [UInt8] {
    content.withLock { content in
      switch content {
      case .own(let array): array
      case .lent(let bytes): unsafe [UInt8](bytes.all)
      }
    }
  }

  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    var result: Result?
    try content.withLock { content throws(Failure) in
      switch content {
      case .own(let array): result = try body(array.span)
      case .lent(let bytes): result = unsafe try body(Span(_unsafeBytes: UnsafeRawBufferPointer(bytes.all)))
      }
    }
    guard let result else { preconditionFailure("a body that does not throw has a result") }
    return result
  }

  @unsafe func write<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Result?
    try content.withLock { content throws(Failure) in
      switch content {
      case .own(var array):
        // Taken out, so that it is not copied.
        content = .own([])
        defer { content = .own(array) }
        var span = array.mutableSpan
        result = try unsafe span.withUnsafeMutableBytes { bytes throws(Failure) in try unsafe body(bytes) }
      case .lent(let bytes): result = unsafe try body(bytes.all)
      }
    }
    guard let result else { preconditionFailure("a body that does not throw has a result") }
    return result
  }
}
