// Frames in buffers that a camera fills and the GPU reads in place.

/// A plane of a frame in a camera's buffer, as a texture.
struct ImportedPlane: ~Copyable {
  // Destroyed in this order.
  let texture: ImportedTexture
  private let image: PlaneImage

  init(_ image: consuming PlaneImage, _ size: Size, isExternal: Bool) throws(GLError) {
    texture = unsafe try ImportedTexture(image.handle, size, isExternal: isExternal)
    self.image = image
  }

  /// Makes the driver look at the memory again.
  borrowing func refresh() throws(GLError) { unsafe try texture.refresh(image.handle) }
}

/// Makes buffers for cameras, and shows frames in them as textures.
///
/// It imports only buffers that it has made: software drivers crash at those of other devices.
final class SharedFrames {
  /// Whether only external samplers read the planes.
  let isExternal: Bool
  private let passesLinear: Bool
  private let maximumSide: Int
  /// The device's file, which buffers are made by.
  private let node: String
  private var buffers: [ObjectIdentifier: Imported] = [:]

  private struct Imported {
    weak var buffer: DMABuffer?
    var planes: [PlaneKey: Shared<ImportedPlane>] = [:]
  }

  private struct PlaneKey: Hashable {
    /// In texels of four bytes.
    let size: Size
    let plane: Frame.Plane
  }

  /// The planes of a few formats; a camera whose pictures begin elsewhere each time has others forgotten.
  private static let mostPlanes = 8

  /// Shows frames in the current context; nil if its display, which is one of these, imports no such buffers, or the device's file
  /// is not known.
  init?(on displays: [GPUDisplay], node: String?, _ tuning: RenderTuning) {
    guard let node, let display = displays.first(where: \.isCurrent),
      let reading = PlaneImage.reading(on: display)
    else { return nil }
    isExternal = reading == .external || tuning.importsExternally
    let needed = isExternal ? "GL_OES_EGL_image_external_essl3" : "GL_OES_EGL_image"
    guard GLCapabilities().has(needed) else { return nil }
    self.node = node
    passesLinear = display.has("EGL_EXT_image_dma_buf_import_modifiers")
    maximumSide = tuning.maximumTargetSide
  }

  /// Makes `count` buffers of at least `byteCount` bytes for frames of `format` with `planes`, and imports the first one.
  func make(
    _ count: Int, of byteCount: Int, for format: Frame.Format, _ planes: [Frame.Plane]
  ) throws -> [DMABuffer] {
    trim()
    let keys = try keys(format, planes)
    let end = keys.map { $0.plane.offset + $0.plane.bytesPerRow * $0.size.height }.max() ?? 0
    let made = try (0..<max(1, count)).map { _ in
      try GPUDisplay.makeBuffer(of: max(byteCount, end), at: node)
    }
    for buffer in made { buffers[ObjectIdentifier(buffer)] = Imported(buffer: buffer) }
    _ = try textures(keys, of: made[0])
    return made
  }

  /// Returns a frame's planes, which show what is in its memory now; nil if it has to be copied.
  func planes(of frame: Frame) -> [Shared<ImportedPlane>]? {
    trim()
    guard let memory = frame.storage.memory as? SharedFrameMemory,
      buffers[ObjectIdentifier(memory.buffer)]?.buffer === memory.buffer,
      let keys = try? keys(frame.format, frame.planes)
    else { return nil }
    let isWithin = keys.allSatisfy {
      $0.plane.offset + $0.plane.bytesPerRow * $0.size.height <= memory.buffer.byteCount
    }
    return isWithin ? try? textures(keys, of: memory.buffer) : nil
  }

  private func keys(_ format: Frame.Format, _ planes: [Frame.Plane]) throws -> [PlaneKey] {
    try zip(planes, format.pixelFormat.planes).map { plane, description in
      let size = Size(
        width: (description.tightBytesPerRow(of: format.size) + 3) / 4,
        height: description.texels(of: format.size).height)
      guard plane.offset % 4 == 0, plane.bytesPerRow % 4 == 0, plane.bytesPerRow >= size.width * 4 else {
        throw RenderError(
          "rows of \(plane.bytesPerRow) bytes from byte \(plane.offset) on are not made of words")
      }
      guard max(size.width, size.height) <= maximumSide else {
        throw RenderError("a plane is larger than the renderer's \(maximumSide) pixels")
      }
      return PlaneKey(size: size, plane: plane)
    }
  }

  private func textures(_ keys: [PlaneKey], of buffer: DMABuffer) throws -> [Shared<ImportedPlane>] {
    let id = ObjectIdentifier(buffer)
    var planes = buffers[id]?.planes ?? [:]
    if planes.count + keys.count > Self.mostPlanes { planes = [:] }
    defer { buffers[id]?.planes = planes }
    return try keys.map { key in
      if let known = planes[key] {
        // Drivers may keep what they have read, until the image is set again.
        try known.object.refresh()
        return known
      }
      let image = try PlaneImage(
        of: buffer, key.size, offset: key.plane.offset, stride: key.plane.bytesPerRow,
        passesLinear: passesLinear)
      let plane = Shared(try ImportedPlane(image, key.size, isExternal: isExternal))
      planes[key] = plane
      return plane
    }
  }

  /// Forgets buffers that are gone, and their textures.
  func trim() { buffers = buffers.filter { $0.value.buffer != nil } }
}
