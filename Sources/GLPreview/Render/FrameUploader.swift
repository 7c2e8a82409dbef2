// Copies a frame's planes into textures: the first thing that happens on the GPU.
internal import PreviewCore

/// The textures of one frame format, kept for the next frame of the same format.
final class FrameUploader {
  private let maximumSide: Int
  private var uploaded: UploadedFrame?

  init(maximumSide: Int) { self.maximumSide = maximumSide }

  /// Uploads all planes; what was uploaded before is gone.
  func upload(_ frame: Frame) throws -> UploadedFrame {
    let kept = uploaded.flatMap { $0.format == frame.format ? $0 : nil }
    let target = try kept ?? UploadedFrame(frame.format, maximumSide: maximumSide)
    uploaded = target
    for (texture, plane) in zip(target.planes, frame.planes) { try texture.replace(with: frame, plane) }
    return target
  }
}

/// A frame on the GPU.
final class UploadedFrame {
  let format: FrameFormat
  let planes: [PlaneTexture]
  /// Whether any plane is stored in bands.
  let isInBands: Bool

  init(_ format: FrameFormat, maximumSide: Int) throws {
    self.format = format
    self.planes = try format.pixelFormat.planes.map {
      try PlaneTexture($0, of: format, maximumSide: maximumSide)
    }
    self.isInBands = planes.contains { $0.bands.isNeeded }
  }
}

/// One plane of a frame as a texture of whole numbers, so that a shader reads the very codes.
final class PlaneTexture {
  let bands: PlaneBands
  private let description: PlaneDescription
  private let texture: Texture

  init(_ description: PlaneDescription, of format: FrameFormat, maximumSide: Int) throws {
    self.description = description
    self.bands = PlaneBands(description.texels(of: format.size), maximumSide: maximumSide)
    let size = bands.textureSize
    guard max(size.width, size.height) <= maximumSide else {
      throw RenderError(
        "a \(format.size) frame is too large for this device's textures of \(maximumSide) a side")
    }
    self.texture = try Texture(
      TextureFormat(description.texel), width: size.width, height: size.height,
      swizzle: format.pixelFormat.storesBlueFirst ? .bgra : .rgba)
  }

  func bind(unit: Int) { texture.bind(unit: unit) }

  func replace(with frame: Frame, _ plane: FramePlane) throws {
    let texels = bands.plane
    let bytesPerTexel = description.texel.byteCount
    for band in bands.all {
      let start = plane.offset + band.source.y * plane.bytesPerRow + band.source.x * bytesPerTexel
      let length = (band.source.height - 1) * plane.bytesPerRow + band.source.width * bytesPerTexel
      precondition(band.source.isInside(texels), "bands are parts of their plane")
      try texture.replace(
        with: frame.bytes.span.extracting(start..<start + length), bytesPerRow: plane.bytesPerRow,
        in: TexelRegion(
          x: band.target.x, y: band.target.y, width: band.source.width, height: band.source.height))
    }
  }
}

extension TextureFormat {
  /// The format that holds a plane's texels as they are.
  init(_ texel: TexelLayout) {
    self =
      switch texel {
      case .one8: .r8ui
      case .two8: .rg8ui
      case .three8: .rgb8ui
      case .four8: .rgba8ui
      case .four16: .rgba16ui
      }
  }
}

extension PixelFormat {
  /// B, G, R in memory: the texture shows them to shaders as R, G, B.
  fileprivate var storesBlueFirst: Bool {
    if case .rgb(let red, _, let blue, _) = model { red.channel > blue.channel } else { false }
  }
}
