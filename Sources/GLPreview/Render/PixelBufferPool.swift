// Pixel buffers by size, used again for later frames.

/// A pixel buffer that may be lent.
final class PooledPixelBuffer {
  let memory: PixelBuffer

  init(byteCount: Int, for use: PixelBuffer.Use) throws(GLError) {
    memory = try PixelBuffer(byteCount: byteCount, for: use)
  }
}

/// Lends buffers that the GPU is done with, and takes them back only when a fence has said so.
final class PixelBufferPool {
  private let use: PixelBuffer.Use
  private var idle: IdleStock<Int, PooledPixelBuffer>

  /// Sizes are rounded up to this, so that views that differ by a little share buffers.
  private static let granule = 64 << 10

  /// Of those that the last drawing did not use, `capacity` buffers are kept.
  init(for use: PixelBuffer.Use, capacity: Int) {
    self.use = use
    idle = IdleStock(mostCount: capacity)
  }

  /// Bytes that are held for later.
  var idleByteCount: Int { idle.byteCount }

  /// Before each drawing.
  func beginDrawing() { idle.beginDrawing() }

  /// Lets go of what is held for later.
  func removeAll() { idle.removeAll() }

  /// A buffer of at least `byteCount` bytes, at most a granule more.
  func take(_ byteCount: Int) throws(GLError) -> PooledPixelBuffer {
    let granules = byteCount / PixelBufferPool.granule + (byteCount % PixelBufferPool.granule > 0 ? 1 : 0)
    let size = max(1, granules) * PixelBufferPool.granule
    if let buffer = idle.take(size) { return buffer }
    return try PooledPixelBuffer(byteCount: size, for: use)
  }

  /// The GPU must be done with `buffer`.
  func giveBack(_ buffer: PooledPixelBuffer) {
    idle.put(buffer, buffer.memory.byteCount, byteCount: buffer.memory.byteCount)
  }
}

/// One frame's way up through pixel buffers: each plane is copied once, into mapped memory.
final class BufferedUpload {
  private let pool: PixelBufferPool
  private var used: [PooledPixelBuffer] = []

  init(_ pool: PixelBufferPool) { self.pool = pool }

  /// Takes new texels for a region, or for all of a texture, from rows that are `bytesPerRow` apart in `rows`. What a row,
  /// or the last one, lacks there is zeros.
  func replace(
    _ texture: borrowing Texture, with rows: Span<UInt8>, bytesPerRow: Int, in region: TexelRegion? = nil
  ) throws(GLError) {
    let region = region ?? texture.bounds
    let rowByteCount = region.width * texture.format.bytesPerTexel
    let buffer = try pool.take(rowByteCount * region.height)
    try buffer.memory.replace(
      with: rows, bytesPerRow: bytesPerRow, rowByteCount: rowByteCount, rowCount: region.height)
    try texture.replace(from: buffer.memory, in: region)
    used.append(buffer)
  }

  /// Gives the buffers back; the GPU must be done with them. Where that is not known they end with this object.
  func finish() {
    for buffer in used { pool.giveBack(buffer) }
    used = []
  }
}
