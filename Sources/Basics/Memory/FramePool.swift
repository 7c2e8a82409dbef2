// Reuses the memory of frames: a stream of frames needs only the memory of a few.
internal import Synchronization

/// A pool of memory for frames. A source borrows and fills it, the frame's last holder returns it, and the
/// next frame reuses it.
///
/// A renderer that draws the pool's frames may add GPU memory; frames written to it need no upload.
package final class FramePool: Sendable {
  /// The budget that the pool's memory counts against; nil for none.
  package let budget: MemoryBudget?
  private let state = Mutex(State())

  private struct State {
    var idle: [FrameMemory] = []
    var byteCount = 0
    /// The number of requests for which no GPU memory was idle.
    var misses = 0
    weak var sharing: (any BufferSharing)?
  }

  /// The most idle buffers, and their most bytes. Beyond either, the buffer that was returned first is freed;
  /// the process's own memory goes before GPU memory.
  private static let capacity = 7
  private static let mostIdleBytes = 128 << 20

  package init(budget: MemoryBudget? = nil) { self.budget = budget }

  /// The byte count of the frames currently being made; 0 before the first.
  package var byteCount: Int { state.withLock { $0.byteCount } }

  /// Returns uninitialised memory of `byteCount` bytes: GPU memory if some is idle.
  package func take(_ byteCount: Int) throws(MemoryBudget.Exceeded) -> FrameBuffer {
    let found = state.withLock { state in
      if state.byteCount != byteCount { state.idle.removeAll() }
      state.byteCount = byteCount
      let lent = state.idle.lastIndex { $0.isLent }
      if lent == nil { state.misses += 1 }
      let index = lent ?? state.idle.indices.last
      return index.map { state.idle.remove(at: $0) }
    }
    if let found { return FrameBuffer(found, of: self) }
    return FrameBuffer(FrameMemory(byteCount: byteCount, try budget?.reserve(byteCount)), of: self)
  }

  /// Adds unused memory; it is freed if frames now have another size.
  func add(_ memory: FrameMemory) {
    state.withLock { state in
      guard memory.byteCount == state.byteCount else { return }
      state.idle.append(memory)
      let most = min(max(FramePool.mostIdleBytes / max(memory.byteCount, 1), 1), FramePool.capacity)
      if state.idle.count > most { state.idle.remove(at: state.idle.firstIndex { !$0.isLent } ?? 0) }
    }
  }

  /// Adds GPU memory; it replaces idle memory of the process.
  package func add(lent memory: FrameMemory) {
    state.withLock { state in
      if let index = state.idle.firstIndex(where: { !$0.isLent }) { state.idle.remove(at: index) }
    }
    add(memory)
  }

  /// Returns how often no GPU memory was idle since the last call: that much more could be used.
  package func takeMisses() -> Int {
    state.withLock { state in
      defer { state.misses = 0 }
      return state.misses
    }
  }

  package func removeAll() { state.withLock { $0.idle.removeAll() } }

  /// The maker of buffers that a camera fills and the renderer reads in place; nil if there is none.
  package var sharing: (any BufferSharing)? {
    get { state.withLock { $0.sharing } }
    set { state.withLock { $0.sharing = newValue } }
  }
}

extension FramePool: Hashable {
  package static func == (a: FramePool, b: FramePool) -> Bool { a === b }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The memory of one frame. Its source writes it; afterwards it does not change until the frame is released.
package final class FrameBuffer: LentMemory {
  package let memory: FrameMemory
  private let pool: FramePool

  fileprivate init(_ memory: FrameMemory, of pool: FramePool) {
    self.memory = memory
    self.pool = pool
  }

  deinit { pool.add(memory) }

  package var byteCount: Int { memory.byteCount }

  package var array: [UInt8] { memory.array }

  package func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result)
    throws(Failure)
    -> Result
  {
    try memory.withSpan(body)
  }

  package func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe memory.write { bytes throws(Failure) in
      var span = unsafe MutableSpan<UInt8>(_unsafeBytes: bytes)
      return try body(&span)
    }
  }

  /// Lets `body` write. A renderer that provides the memory waits for it before closing.
  @unsafe package func write<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe memory.write(body)
  }
}
