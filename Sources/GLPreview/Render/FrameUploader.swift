// Uploads a frame's planes to textures: the first step on the GPU.
internal import PreviewCore

/// The textures of one frame format, reused for the next frame of that format.
final class FrameUploader {
  /// The mapped GPU memory that sources decode frames into.
  let mappedMemory = MappedFrameMemory()
  private let maximumSide: Int
  private let clock: PassClock
  private let words: FrameWords
  private var uploaded: UploadedFrame?

  init(maximumSide: Int, _ clock: PassClock) {
    self.maximumSide = maximumSide
    self.clock = clock
    words = FrameWords(mappedMemory)
  }

  /// Starts a new frame; earlier uploads become invalid. A plane is uploaded once, when a pass first reads it,
  /// through `buffers` if there are any. `observer` is informed of uploads.
  func upload(_ frame: Frame, through buffers: BufferedUpload? = nil) -> UploadedFrame {
    let next = UploadedFrame(frame, maximumSide: maximumSide, words: words, keeping: uploaded, buffers, clock)
    uploaded = next
    return next
  }

  /// The bytes of the last frame, whose textures are kept.
  var byteCount: Int { uploaded?.byteCount ?? 0 }

  /// Frees everything kept for the next frame.
  func removeAll() {
    uploaded = nil
    words.removeAll()
  }
}

/// An uploaded frame, as far as its passes have read it.
final class UploadedFrame {
  let format: FrameFormat
  /// Whether any plane is stored in bands.
  let isInBands: Bool
  private let frame: Frame
  private let maximumSide: Int
  private var buffers: BufferedUpload?
  private let clock: PassClock
  private var planes: [PlaneTexture?]
  private var packedPlanes: [PackedPlaneTexture?]
  private let frameWords: FrameWords
  private var hasFreshWords = false
  private var freshPlanes: Set<Int> = []
  private var freshPackedPlanes: Set<Int> = []

  init(
    _ frame: Frame, maximumSide: Int, words: FrameWords, keeping kept: UploadedFrame?,
    _ buffers: BufferedUpload?, _ clock: PassClock
  ) {
    let descriptions = frame.format.pixelFormat.planes
    self.frame = frame
    self.buffers = buffers
    self.clock = clock
    self.format = frame.format
    self.maximumSide = maximumSide
    let isSame = kept?.format == frame.format
    planes = isSame ? kept?.planes ?? [] : descriptions.map { _ in nil }
    packedPlanes = isSame ? kept?.packedPlanes ?? [] : descriptions.map { _ in nil }
    frameWords = words
    isInBands = descriptions.contains {
      PlaneBands($0.texels(of: frame.format.size), maximumSide: maximumSide).isNeeded
    }
  }

  var byteCount: Int { frame.storage.count }

  /// A plane, with its own texels.
  func plane(_ index: Int) throws -> PlaneTexture {
    let description = format.pixelFormat.planes[index]
    let texture = try planes[index] ?? PlaneTexture(description, of: format, maximumSide: maximumSide)
    planes[index] = texture
    if freshPlanes.insert(index).inserted {
      try timed(description) { try texture.replace(with: frame, frame.planes[index], through: buffers) }
    }
    return texture
  }

  /// Releases what belongs only to this frame. No pass may follow.
  func finish() { buffers = nil }

  /// Whether all planes can be read as words.
  var fitsWords: Bool { frameWords.canHold(format) }

  /// All planes as words.
  func words() throws -> FrameWords {
    guard !hasFreshWords else { return frameWords }
    // What is lent is read where it is.
    if frameWords.isLent(frame) {
      try frameWords.replace(with: frame)
    } else {
      try clock.upload(byteCount: frame.storage.count) { try frameWords.replace(with: frame) }
    }
    hasFreshWords = true
    return frameWords
  }

  /// A plane in four-byte texels.
  func packedPlane(_ index: Int) throws -> PackedPlaneTexture {
    let description = format.pixelFormat.planes[index]
    let texture = try packedPlanes[index] ?? PackedPlaneTexture(description, of: format)
    packedPlanes[index] = texture
    if freshPackedPlanes.insert(index).inserted {
      try timed(description) { try texture.replace(with: frame, frame.planes[index], through: buffers) }
    }
    return texture
  }

  private func timed(_ plane: PlaneDescription, _ copy: () throws -> Void) throws {
    try clock.upload(
      byteCount: plane.tightBytesPerRow(of: format.size) * plane.texels(of: format.size).height, copy)
  }
}

/// One plane of a frame in four-byte texels, whatever its sample format. Bytes after a row's last sample always have
/// weight 0.
final class PackedPlaneTexture {
  /// Texels per row.
  let width: Int
  private let height: Int
  private let texture: Texture

  init(_ description: PlaneDescription, of format: FrameFormat) throws {
    width = (description.tightBytesPerRow(of: format.size) + 3) / 4
    height = description.texels(of: format.size).height
    texture = try Texture(.rgba8, width: width, height: height)
  }

  func bind(unit: Int) { texture.bind(unit: unit) }

  func replace(with frame: Frame, _ plane: FramePlane, through buffers: BufferedUpload?) throws {
    let row = width * 4
    let rest = frame.storage.count - plane.offset
    if let buffers {
      try frame.storage.withSpan { bytes throws in
        try buffers.replace(
          texture, with: bytes.extracting(plane.offset..<bytes.count), bytesPerRow: plane.bytesPerRow)
      }
      return
    }
    if plane.bytesPerRow >= row, rest >= plane.bytesPerRow * (height - 1) + row {
      let used = plane.offset..<plane.offset + plane.bytesPerRow * (height - 1) + row
      try frame.storage.withSpan { (bytes) throws(GLError) in
        try texture.replace(with: bytes.extracting(used), bytesPerRow: plane.bytesPerRow)
      }
      return
    }
    // The last row's last texel would reach beyond the frame.
    var padded: [UInt8] = []
    padded.reserveCapacity(row * height)
    let tight = min(row, plane.bytesPerRow)
    let bytes = frame.bytes
    for y in 0..<height {
      let start = plane.offset + y * plane.bytesPerRow
      let end = min(start + tight, bytes.count)
      padded += bytes[start..<end]
      padded += repeatElement(0, count: row - (end - start))
    }
    try texture.replace(with: padded.span, bytesPerRow: row)
  }
}

/// One plane of a frame as an integer texture, so that a shader reads exact codes.
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

  func replace(with frame: Frame, _ plane: FramePlane, through buffers: BufferedUpload?) throws {
    let texels = bands.plane
    let bytesPerTexel = description.texel.byteCount
    for band in bands.all {
      let start = plane.offset + band.source.y * plane.bytesPerRow + band.source.x * bytesPerTexel
      let length = (band.source.height - 1) * plane.bytesPerRow + band.source.width * bytesPerTexel
      precondition(band.source.isInside(texels), "bands are parts of their plane")
      try frame.storage.withSpan { bytes throws in
        let rows = bytes.extracting(start..<start + length)
        if let buffers {
          try buffers.replace(texture, with: rows, bytesPerRow: plane.bytesPerRow, in: band.target)
        } else {
          try texture.replace(with: rows, bytesPerRow: plane.bytesPerRow, in: band.target)
        }
      }
    }
  }
}

extension TextureFormat {
  /// The format that stores a plane's texels unchanged.
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
  /// Whether memory holds B, G, R; the texture swizzles it to R, G, B.
  fileprivate var storesBlueFirst: Bool {
    if case .rgb(let red, _, let blue, _) = model { red.channel > blue.channel } else { false }
  }
}
