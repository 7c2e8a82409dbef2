// Memory for frames, used again and again: a stream of frames takes as much as a few of them, however long it is.
internal import PreviewCore
internal import Synchronization

/// Lends memory to frames. A source fills it, the last holder of the frame lets it go, the next frame has it.
///
/// A renderer that draws frames of the pool may add memory of the GPU's to it: what is made in that need not be uploaded.
package final class FramePool: Sendable {
  /// What its memory counts against; nil counts nothing.
  let budget: MemoryBudget?
  private let state = Mutex(State())

  private struct State {
    var idle: [FrameMemory] = []
    /// What the last frame took.
    var byteCount = 0
  }

  /// What is idle beyond this many, or beyond these bytes, is let go, the longest unused first.
  private static let capacity = 7
  private static let mostIdleBytes = 128 << 20

  /// An empty pool, whose memory counts against `budget`.
  package init(budget: MemoryBudget? = nil) { self.budget = budget }

  /// The size of the frames that are being made, in bytes; 0 before the first.
  var byteCount: Int { state.withLock { $0.byteCount } }

  /// Memory of `byteCount` bytes, the GPU's if there is some; what is in it at first is not defined.
  ///
  /// - Throws: `MemoryBudgetExceeded`.
  func take(_ byteCount: Int) throws(MemoryBudgetExceeded) -> FrameBuffer {
    let found = state.withLock { state in
      if state.byteCount != byteCount { state.idle.removeAll() }
      state.byteCount = byteCount
      let index = state.idle.lastIndex { $0.isLent } ?? state.idle.indices.last
      return index.map { state.idle.remove(at: $0) }
    }
    if let found { return FrameBuffer(found, of: self) }
    return FrameBuffer(FrameMemory(byteCount: byteCount, try budget?.reserve(byteCount)), of: self)
  }

  /// Adds memory that nobody holds, or drops it where frames have another size by now.
  func add(_ memory: FrameMemory) {
    state.withLock { state in
      guard memory.byteCount == state.byteCount else { return }
      state.idle.append(memory)
      let most = min(max(FramePool.mostIdleBytes / max(memory.byteCount, 1), 1), FramePool.capacity)
      if state.idle.count > most { state.idle.remove(at: state.idle.firstIndex { !$0.isLent } ?? 0) }
    }
  }

  /// Drops what is idle.
  func removeAll() { state.withLock { $0.idle.removeAll() } }
}

extension FramePool: Hashable {
  /// A pool is equal to itself alone.
  package static func == (a: FramePool, b: FramePool) -> Bool { a === b }

  /// By identity.
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
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

  func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe memory.write { bytes throws(Failure) in
      var span = unsafe MutableSpan<UInt8>(_unsafeBytes: bytes)
      return try body(&span)
    }
  }

  /// Lets `body` write; a renderer that lent the memory and is closed waits for it.
  @unsafe func write<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe memory.write(body)
  }
}
