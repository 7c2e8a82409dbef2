// Pixel buffers by size, reused for later frames.

/// Hands out buffers that the GPU no longer uses. They are only returned after their fence has passed.
final class PixelBufferPool {
  private let use: PixelBuffer.Use
  var idle: ReusePool<Int, Shared<PixelBuffer>>

  /// Sizes are rounded up to this, so that views of similar size share buffers.
  private static let granule = 64 << 10

  /// Keeps at most `capacity` buffers that the last drawing did not use.
  init(for use: PixelBuffer.Use, capacity: Int) {
    self.use = use
    idle = ReusePool(mostCount: capacity)
  }

  /// A buffer of at least `byteCount` bytes, at most a granule more.
  func take(_ byteCount: Int) throws(GLError) -> Shared<PixelBuffer> {
    let granules = byteCount / PixelBufferPool.granule + (byteCount % PixelBufferPool.granule > 0 ? 1 : 0)
    let size = max(1, granules) * PixelBufferPool.granule
    if let buffer = idle.take(size) { return buffer }
    return Shared(try PixelBuffer(byteCount: size, for: use))
  }

  /// The GPU must have finished with `buffer`.
  func giveBack(_ buffer: Shared<PixelBuffer>) {
    idle.put(buffer, buffer.object.byteCount, byteCount: buffer.object.byteCount)
  }
}

/// The upload of one frame through pixel buffers: each plane is copied once, into mapped memory.
final class BufferedUpload {
  private let pool: PixelBufferPool
  private var used: [Shared<PixelBuffer>] = []

  init(_ pool: PixelBufferPool) { self.pool = pool }

  /// Replaces a region, or all, of a texture from rows that are `bytesPerRow` apart in `rows`. Missing bytes
  /// of a row become zeros.
  func replace(
    _ texture: borrowing Texture, with rows: Span<UInt8>, bytesPerRow: Int, in region: Rectangle? = nil
  ) throws(GLError) {
    let region = region ?? texture.bounds
    let rowByteCount = region.width * texture.format.bytesPerTexel
    let buffer = try pool.take(rowByteCount * region.height)
    try buffer.object.replace(
      with: rows, bytesPerRow: bytesPerRow, rowByteCount: rowByteCount, rowCount: region.height)
    try texture.replace(from: buffer.object, in: region)
    used.append(buffer)
  }

  /// Returns the buffers, which the GPU must have finished with. Otherwise they end with this object.
  func finish() {
    for buffer in used { pool.giveBack(buffer) }
    used = []
  }
}
