// Targets by format and size, used again for the next frame.

/// A target that may be lent.
final class PooledTarget {
  let target: RenderTarget

  init(_ format: TextureFormat, width: Int, height: Int) throws(GLError) {
    target = try RenderTarget(Texture(format, width: width, height: height))
  }

  func fits(_ format: TextureFormat, width: Int, height: Int) -> Bool {
    target.texture.format == format && target.texture.width == width && target.texture.height == height
  }
}

/// Lends targets and takes them back.
final class TargetPool {
  private var idle: [PooledTarget] = []

  /// More than this many are ended, the longest unused first.
  private static let capacity = 32

  func take(_ format: TextureFormat, width: Int, height: Int) throws(GLError) -> PooledTarget {
    if let index = idle.lastIndex(where: { $0.fits(format, width: width, height: height) }) {
      return idle.remove(at: index)
    }
    return try PooledTarget(format, width: width, height: height)
  }

  func giveBack(_ target: PooledTarget) {
    idle.append(target)
    if idle.count > TargetPool.capacity { idle.removeFirst() }
  }
}
