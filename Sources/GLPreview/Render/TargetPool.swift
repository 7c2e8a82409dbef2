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

  var size: Size { Size(width: width, height: height) }

  var byteCount: Int { width * height * format.bytesPerTexel * outputs }
}

/// A target that a `TargetPool` hands out.
final class PooledTarget {
  let description: TargetDescription
  let target: RenderTarget
  fileprivate let others: [Shared<Texture>]

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

extension PooledTarget {
  /// Makes the outputs the images that a compute shader writes. They must not be an array.
  func bindImages() {
    target.texture.bindImage(0)
    for (index, other) in others.enumerated() { other.object.bindImage(index + 1) }
  }
}

final class TargetPool {
  var idle = ReusePool<TargetDescription, PooledTarget>(mostCount: 48)

  /// Whether the content of reused targets is declared undefined.
  private let discards: Bool

  init(discards: Bool = false) { self.discards = discards }

  /// Returns a target with undefined content. It is not declared undefined for compute shaders, which load nothing.
  func take(_ description: TargetDescription, discarding: Bool = true) throws(GLError) -> PooledTarget {
    guard let target = idle.take(description) else { return try PooledTarget(description) }
    if discards, discarding { target.target.discard() }
    return target
  }

  func giveBack(_ target: PooledTarget) {
    idle.put(target, target.description, byteCount: target.description.byteCount)
  }
}
