// Pixel buffers by size, reused for later frames.

/// A pixel buffer that may be lent.
final class PooledPixelBuffer {
  let memory: PixelBuffer

  init(byteCount: Int, for use: PixelBuffer.Use) throws(GLError) {
    memory = try PixelBuffer(byteCount: byteCount, for: use)
  }
}

/// Lends buffers that the GPU no longer uses. They are only returned after their fence has passed.
final class PixelBufferPool {
  private let use: PixelBuffer.Use
  private var idle: ReusePool<Int, PooledPixelBuffer>

  /// Sizes are rounded up to this, so that views of similar size share buffers.
  private static let granule = 64 << 10

  /// Keeps at most `capacity` buffers that the last drawing did not use.
  init(for use: PixelBuffer.Use, capacity: Int) {
    self.use = use
    idle = ReusePool(mostCount: capacity)
  }

  /// The bytes of idle buffers.
  var idleByteCount: Int { idle.byteCount }

  /// Called before each drawing.
  func beginDrawing() { idle.beginDrawing() }

  /// Frees idle buffers.
  func removeAll() { idle.removeAll() }

  /// A buffer of at least `byteCount` bytes, at most a granule more.
  func take(_ byteCount: Int) throws(GLError) -> PooledPixelBuffer {
    let granules = byteCount / PixelBufferPool.granule + (byteCount % PixelBufferPool.granule > 0 ? 1 : 0)
    let size = max(1, granules) * PixelBufferPool.granule
    if let buffer = idle.take(size) { return buffer }
    return try PooledPixelBuffer(byteCount: size, for: use)
  }

  /// The GPU must have finished with `buffer`.
  func giveBack(_ buffer: PooledPixelBuffer) {
    idle.put(buffer, buffer.memory.byteCount, byteCount: buffer.memory.byteCount)
  }
}

/// The upload of one frame through pixel buffers: each plane is copied once, into mapped memory.
final class BufferedUpload {
  private let pool: PixelBufferPool
  private var used: [PooledPixelBuffer] = []

  init(_ pool: PixelBufferPool) { self.pool = pool }

  /// Replaces a region, or all, of a texture from rows that are `bytesPerRow` apart in `rows`. Missing bytes of a row
  /// become zeros.
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

  /// Returns the buffers, which the GPU must have finished with. Otherwise they end with this object.
  func finish() {
    for buffer in used { pool.giveBack(buffer) }
    used = []
  }
}
