// Uploads a frame's planes to textures: the first step on the GPU.
internal import Shaders

/// The textures of one frame format, reused for the next frame of that format.
final class FrameUploader {
  /// The mapped GPU memory that sources decode frames into.
  let mappedMemory = MappedFrameMemory()
  private let maximumSide: Int
  private let clock: PassClock
  private let words: FrameWords
  /// The buffers that cameras fill and shaders read in place; nil if the display imports none.
  let shared: SharedFrames?
  private var uploaded: UploadedFrame?
  /// The frame whose alpha was last checked, and that frame without it; nil if it has none or is not opaque.
  private var seen: (frame: FrameIdentity, opaque: Frame?)?

  init(maximumSide: Int, _ clock: PassClock, _ shared: SharedFrames? = nil) {
    self.shared = shared
    self.maximumSide = maximumSide
    self.clock = clock
    words = FrameWords(mappedMemory)
  }

  /// Starts a new frame; earlier uploads become invalid. A plane is uploaded when a pass first reads it.
  func upload(_ frame: Frame, through buffers: BufferedUpload? = nil) -> UploadedFrame {
    let next = UploadedFrame(
      frame, maximumSide: maximumSide, words: words, keeping: uploaded, buffers, clock,
      imported: shared?.planes(of: frame), isExternal: shared?.isExternal ?? false)
    uploaded = next
    return next
  }

  /// Returns the frame without its alpha; nil if it has none or is not opaque. Checks each frame once.
  func withoutUnusedAlpha(_ frame: Frame) -> Frame? {
    if let seen, seen.frame == frame.identity { return seen.opaque }
    let opaque = frame.withoutUnusedAlpha()
    seen = (frame.identity, opaque)
    return opaque
  }

  /// The bytes of the last frame, whose textures are kept.
  var byteCount: Int { uploaded?.byteCount ?? 0 }

  /// Frees everything kept for the next frame.
  func removeAll() {
    (uploaded, seen) = (nil, nil)
    words.removeAll()
    shared?.trim()
  }
}

/// An uploaded frame, as far as its passes have read it.
final class UploadedFrame {
  let format: Frame.Format
  private let frame: Frame
  let maximumSide: Int
  private var buffers: BufferedUpload?
  private let clock: PassClock
  private var planes: [Int: PlaneTexture]
  private var freshPlanes: Set<Int> = []
  private let frameWords: FrameWords
  private var hasFreshWords = false
  /// The planes where the frame lies; nil if it is copied.
  private let imported: [Shared<ImportedPlane>]?
  /// How shaders read them; nil if the frame is copied.
  let importedPlace: PassVariant.Place?

  init(
    _ frame: Frame, maximumSide: Int, words: FrameWords, keeping kept: UploadedFrame?,
    _ buffers: BufferedUpload?, _ clock: PassClock,
    imported: [Shared<ImportedPlane>]? = nil, isExternal: Bool = false
  ) {
    self.imported = imported
    importedPlace = imported.map { _ in isExternal ? .external : .imported }
    self.frame = frame
    self.buffers = buffers
    self.clock = clock
    self.format = frame.format
    self.maximumSide = maximumSide
    planes = kept?.format == frame.format ? kept?.planes ?? [:] : [:]
    frameWords = words
  }

  var byteCount: Int { frame.storage.count }

  /// Binds a plane that is read in place; returns its size in texels, or nil if the frame is copied.
  func bindImported(_ index: Int, unit: Int) -> Size? {
    guard let plane = imported?[index] else { return nil }
    plane.object.texture.bind(unit: unit)
    return plane.object.texture.size
  }

  /// A plane as a texture.
  func plane(_ index: Int) throws -> PlaneTexture {
    let description = format.pixelFormat.planes[index]
    let texture = try planes[index] ?? PlaneTexture(description, of: format, maximumSide: maximumSide)
    planes[index] = texture
    if freshPlanes.insert(index).inserted {
      try clock.upload(
        byteCount: description.tightBytesPerRow(of: format.size) * description.texels(of: format.size).height
      ) { try texture.replace(with: frame, frame.planes[index], through: buffers) }
    }
    return texture
  }

  /// Releases what belongs only to this frame. No pass may follow.
  func finish() { buffers = nil }

  /// Whether all planes can be read as words.
  var fitsWords: Bool { imported == nil && frameWords.canHold(format) }

  /// Whether they can also be read as single bytes.
  var fitsBytes: Bool { imported == nil && frameWords.canHoldBytes(frame) }

  func words() throws -> FrameWords {
    guard !hasFreshWords else { return frameWords }
    // Borrowed memory is read in place.
    if frameWords.isLent(frame) {
      try frameWords.replace(with: frame)
    } else {
      try clock.upload(byteCount: frame.storage.count) { try frameWords.replace(with: frame) }
    }
    hasFreshWords = true
    return frameWords
  }
}

/// One plane of a frame as a texture with four bytes a texel, whatever the sample format, in bands if it is
/// large.
final class PlaneTexture {
  let bands: PlaneBands
  private let texture: Texture

  /// A row's last texel may have bytes after the last sample; these are ignored.
  init(_ description: PlaneDescription, of format: Frame.Format, maximumSide: Int) throws {
    let width = (description.tightBytesPerRow(of: format.size) + 3) / 4
    bands = PlaneBands(
      Size(width: width, height: description.texels(of: format.size).height), maximumSide: maximumSide)
    let size = bands.textureSize
    guard max(size.width, size.height) <= maximumSide else {
      throw RenderError(
        "a \(format.size) frame is too large for this device's textures of \(maximumSide) a side")
    }
    texture = try Texture(.rgba8ui, width: size.width, height: size.height)
  }

  func bind(unit: Int) { texture.bind(unit: unit) }

  func replace(with frame: Frame, _ plane: Frame.Plane, through buffers: BufferedUpload?) throws {
    let bytesPerTexel = texture.format.bytesPerTexel
    for band in bands.all {
      let start = plane.offset + band.source.y * plane.bytesPerRow + band.source.x * bytesPerTexel
      let row = band.source.width * bytesPerTexel
      let end = start + (band.source.height - 1) * plane.bytesPerRow + row
      precondition(band.source.isInside(bands.plane), "bands are parts of their plane")
      // A packed row's last texel may reach beyond the row, and the last row's beyond the frame.
      guard buffers != nil || (row <= plane.bytesPerRow && end <= frame.storage.count) else {
        try texture.replace(
          with: Self.padded(frame, plane, band.source).span, bytesPerRow: row, in: band.target)
        continue
      }
      try frame.storage.withSpan { bytes throws in
        let rows = bytes.extracting(start..<min(end, bytes.count))
        if let buffers {
          try buffers.replace(texture, with: rows, bytesPerRow: plane.bytesPerRow, in: band.target)
        } else {
          try texture.replace(with: rows, bytesPerRow: plane.bytesPerRow, in: band.target)
        }
      }
    }
  }

  /// Texels of a plane, the last of a row extended to four bytes.
  private static func padded(_ frame: Frame, _ plane: Frame.Plane, _ texels: Rectangle) -> [UInt8] {
    let (row, first) = (texels.width * 4, texels.x * 4)
    var padded: [UInt8] = []
    padded.reserveCapacity(row * texels.height)
    let bytes = frame.bytes
    for y in texels.y..<texels.y + texels.height {
      let start = plane.offset + y * plane.bytesPerRow + first
      let end = min(start + min(row, plane.bytesPerRow - first), bytes.count)
      padded += bytes[start..<end]
      padded += repeatElement(0, count: row - (end - start))
    }
    return padded
  }
}
