// Targets by format and size, reused for the next frame.

struct TargetDescription: Hashable {
  let format: TextureFormat
  let width: Int
  let height: Int
  /// The number of outputs of this format and size that a pass writes at once: 1...4.
  let outputs: Int
  /// Whether the outputs are the layers of one array, so that shaders choose among them.
  let isArray: Bool

  init(_ format: TextureFormat, width: Int, height: Int, outputs: Int = 1, isArray: Bool = false) {
    self.isArray = isArray
    self.format = format
    self.width = width
    self.height = height
    self.outputs = outputs
  }

  var byteCount: Int { width * height * format.bytesPerTexel * outputs }
}

/// A target that a `TargetPool` hands out.
final class PooledTarget {
  let description: TargetDescription
  let target: RenderTarget
  private let others: [Shared<Texture>]

  init(_ description: TargetDescription) throws(GLError) {
    self.description = description
    let (width, height) = (description.width, description.height)
    let layers = description.isArray ? description.outputs : 0
    let first = try Texture(description.format, width: width, height: height, layers: layers)
    var others: [Shared<Texture>] = []
    for _ in 1..<(description.isArray ? 1 : description.outputs) {
      others.append(Shared(try Texture(description.format, width: width, height: height)))
    }
    target = try RenderTarget(first, others: others.map { $0.object.name })
    self.others = others
  }

  func bind(_ output: Int, unit: Int) {
    if output == 0 { target.texture.bind(unit: unit) } else { others[output - 1].object.bind(unit: unit) }
  }
}

final class TargetPool {
  var idle = ReusePool<TargetDescription, PooledTarget>(mostCount: 48)

  func take(_ description: TargetDescription) throws(GLError) -> PooledTarget {
    if let target = idle.take(description) { return target }
    return try PooledTarget(description)
  }

  func giveBack(_ target: PooledTarget) {
    idle.put(target, target.description, byteCount: target.description.byteCount)
  }
}
