// Provides GPU memory to a frame pool: shaders read in place what a source writes there.

/// Makes as many buffers for a pool as are in use at once, and finds the buffer of a frame again.
///
/// Frames may outlive it: at its end it copies the buffers that are still held.
final class MappedFrameMemory {
  /// Weak, so that nothing is made for a source that is gone.
  private weak var pool: FramePool?
  private var lent: [ObjectIdentifier: Lent] = [:]
  private var lastByteCount = 0

  private struct Lent {
    weak var memory: FrameMemory?
    let buffer: Shared<TexelBuffer>
  }

  /// Enough for frames decoded concurrently, one waiting, two being drawn, and the last one drawn.
  private static let mostBuffers = 7
  /// Large frames get fewer buffers, and none if two exceed this: copying them costs little beside making
  /// them.
  private static let mostBytes = 128 << 20

  deinit { end() }

  /// Provides memory to `pool` from now on, if the context supports it.
  func serve(_ pool: FramePool) {
    end()
    self.pool = TexelBuffer.canStayMapped ? pool : nil
  }

  /// Called before `frame` is drawn: makes missing buffers, and frees those that no frame uses. Frames of
  /// alternating sizes, and frames that need alignment, are allocated elsewhere.
  func restock(for frame: Frame) {
    removeUnheld()
    guard let pool else { return }
    let (byteCount, misses) = (pool.byteCount, pool.takeMisses())
    defer { lastByteCount = byteCount }
    guard byteCount > 0, byteCount == lastByteCount, frame.isInWords,
      byteCount + FrameWords.slack <= TexelBuffer.maximumByteCount,
      byteCount <= MappedFrameMemory.mostBytes / 2
    else { return }
    let wanted = min(MappedFrameMemory.mostBytes / byteCount, MappedFrameMemory.mostBuffers)
    let missing = wanted - lent.values.count { $0.memory?.byteCount == byteCount }
    // If the driver or the budget has no memory, frames are copied as usual.
    for _ in 0..<max(min(missing, misses), 0) {
      guard (try? lend(byteCount, to: pool)) != nil else { return }
    }
  }

  /// Frees the buffers that no frame uses.
  func removeUnheld() { lent = lent.filter { $0.value.memory != nil } }

  /// The buffer that holds a frame; nil if the frame was made elsewhere.
  func buffer(of frame: Frame) -> Shared<TexelBuffer>? {
    guard let memory = (frame.storage.memory as? FrameBuffer)?.memory,
      let lent = lent[ObjectIdentifier(memory)], lent.memory === memory
    else { return nil }
    return lent.buffer
  }

  private func lend(_ byteCount: Int, to pool: FramePool) throws(GLError) {
    let buffer = Shared(try TexelBuffer(byteCount: byteCount + FrameWords.slack, staysMapped: true))
    guard let bytes = unsafe buffer.object.mapped else { return }
    let memory = unsafe FrameMemory(lending: UnsafeMutableRawBufferPointer(rebasing: bytes[..<byteCount]))
    lent[ObjectIdentifier(memory)] = Lent(memory: memory, buffer: buffer)
    pool.add(lent: memory)
  }

  private func end() {
    pool?.removeAll()
    for lent in lent.values { lent.memory?.detach() }
    lent = [:]
    pool = nil
  }
}
