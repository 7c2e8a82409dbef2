// Targets by format and size, used again for the next frame.

/// What a target is to be.
struct TargetDescription: Hashable {
  let format: TextureFormat
  let width: Int
  let height: Int
  /// Whether a pass writes two outputs of this format and size at once.
  let isDouble: Bool

  init(_ format: TextureFormat, width: Int, height: Int, isDouble: Bool = false) {
    self.format = format
    self.width = width
    self.height = height
    self.isDouble = isDouble
  }
}

/// A target that may be lent.
final class PooledTarget {
  let description: TargetDescription
  let target: RenderTarget
  private let second: Texture?

  init(_ description: TargetDescription) throws(GLError) {
    self.description = description
    let (width, height) = (description.width, description.height)
    let first = try Texture(description.format, width: width, height: height)
    guard description.isDouble else {
      second = nil
      target = try RenderTarget(first)
      return
    }
    let other = try Texture(description.format, width: width, height: height)
    target = try RenderTarget(first, second: other.name)
    second = .some(other)
  }

  /// Makes output 0 or 1 what the sampler of texture unit `unit` reads.
  func bind(_ output: Int, unit: Int) {
    if output == 0 { target.texture.bind(unit: unit) } else { second?.bind(unit: unit) }
  }
}

/// Lends targets and takes them back.
final class TargetPool {
  private var idle: [PooledTarget] = []

  /// More than this many are ended, the longest unused first.
  private static let capacity = 48

  func take(_ description: TargetDescription) throws(GLError) -> PooledTarget {
    if let index = idle.lastIndex(where: { $0.description == description }) { return idle.remove(at: index) }
    return try PooledTarget(description)
  }

  func giveBack(_ target: PooledTarget) {
    idle.append(target)
    if idle.count > TargetPool.capacity { idle.removeFirst() }
  }
}
