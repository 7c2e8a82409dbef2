// Memory of the GPU's for the frames of a pool: what a source writes there, shaders read where it is.
internal import PreviewCore

/// Makes buffers for a pool, as many as a pipeline has frames on its way, and knows them again.
///
/// Frames may outlive it: when it ends, it copies what is still held.
final class FrameLender {
  /// Weak: nothing is made for a source that is gone.
  private weak var pool: FramePool?
  private var lent: [ObjectIdentifier: Lent] = [:]
  private var lastByteCount = 0

  private struct Lent {
    weak var memory: FrameMemory?
    let buffer: WordBuffer
  }

  /// What is decoded side by side, one that waits, two to draw, and the one drawn last.
  private static let mostBuffers = 7
  /// Large frames get fewer, and those of which two are more than this none: copying them is little beside making them.
  private static let mostBytes = 128 << 20

  init() {}

  deinit { end() }

  /// Lends to `pool` from now on, where the context can.
  func serve(_ pool: FramePool) {
    end()
    self.pool = TexelBuffer.canStayMapped ? pool : nil
  }

  /// Before `frame` is drawn: makes what the pool lacks, and ends what nobody holds any more. Frames of two sizes by turns,
  /// and those that have to be aligned, are made elsewhere.
  func restock(for frame: Frame) {
    lent = lent.filter { $0.value.memory != nil }
    guard let pool else { return }
    let byteCount = pool.byteCount
    defer { lastByteCount = byteCount }
    guard byteCount > 0, byteCount == lastByteCount, frame.isInWords,
      byteCount + FrameWords.slack <= TexelBuffer.maximumByteCount, byteCount <= FrameLender.mostBytes / 2
    else { return }
    let wanted = min(FrameLender.mostBytes / byteCount, FrameLender.mostBuffers)
    let missing = wanted - lent.values.count { $0.memory?.byteCount == byteCount }
    // Where the driver, or the budget, has no such memory, frames are copied as ever.
    for _ in 0..<max(missing, 0) { guard (try? lend(byteCount, to: pool)) != nil else { return } }
  }

  /// The buffer in which a frame was made; nil where it was made elsewhere.
  func buffer(of frame: Frame) -> WordBuffer? {
    guard let memory = (frame.storage.memory as? FrameBuffer)?.memory,
      let lent = lent[ObjectIdentifier(memory)], lent.memory === memory
    else { return nil }
    return lent.buffer
  }

  private func lend(_ byteCount: Int, to pool: FramePool) throws(GLError) {
    let buffer = try WordBuffer(byteCount: byteCount + FrameWords.slack, staysMapped: true)
    guard let bytes = unsafe buffer.memory.mapped else { return }
    let memory = unsafe FrameMemory(
      lending: UnsafeMutableRawBufferPointer(rebasing: bytes[..<byteCount]))
    lent[ObjectIdentifier(memory)] = Lent(memory: memory, buffer: buffer)
    pool.add(memory)
  }

  private func end() {
    pool?.removeAll()
    for lent in lent.values { lent.memory?.detach() }
    lent = [:]
    pool = nil
  }
}
