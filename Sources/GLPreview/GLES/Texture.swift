// A texture for a frame's plane, a tap table or the output of a pass.
internal import CGLES

/// Texels of one format and size, read individually: nearest, clamped to the edge, no mip levels.
struct Texture: ~Copyable {
  let format: TextureFormat
  let width: Int
  let height: Int
  /// The number of layers of an array; 0 for a single picture.
  let layers: Int
  let name: GLuint
  private let lease: MemoryLease?

  /// Allocates immutable storage with undefined content: of one picture, or of an array of `layers` pictures.
  init(_ format: TextureFormat, width: Int, height: Int, layers: Int = 0) throws(GLError) {
    let memory = GLMemory.reserve(width, height, format.bytesPerTexel * max(layers, 1))
    var name: GLuint = 0
    unsafe glGenTextures(1, &name)
    self.name = name
    lease = memory.lease
    self.format = format
    self.width = width
    self.height = height
    self.layers = layers
    GLLedger.add(.texture)
    try memory.check("a \(width)x\(height) \(format) texture")
    let target = Texture.target(layers)
    let (columns, rows) = (GLsizei(clamping: width), GLsizei(clamping: height))
    glActiveTexture(Texture.unitForChange)
    glBindTexture(target, name)
    if layers == 0 {
      glTexStorage2D(target, 1, format.internalFormat, columns, rows)
    } else {
      glTexStorage3D(target, 1, format.internalFormat, columns, rows, GLsizei(layers))
    }
    for (parameter, value) in [
      (GL_TEXTURE_MIN_FILTER, GL_NEAREST), (GL_TEXTURE_MAG_FILTER, GL_NEAREST),
      (GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE), (GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE),
    ] {
      glTexParameteri(target, GLenum(parameter), value)
    }
    try GLError.check("a \(width)x\(height) \(format) texture")
  }

  deinit {
    unsafe withUnsafePointer(to: name) { unsafe glDeleteTextures(1, $0) }
    GLLedger.remove(.texture)
  }

  private static func target(_ layers: Int) -> GLenum {
    GLenum(layers == 0 ? GL_TEXTURE_2D : GL_TEXTURE_2D_ARRAY)
  }

  /// No sampler reads this unit, so that creating a texture does not replace another's binding.
  static var unitForChange: GLenum { GLenum(GL_TEXTURE0) + 15 }

  private static func bindForChange(_ name: GLuint) {
    glActiveTexture(unitForChange)
    glBindTexture(GLenum(GL_TEXTURE_2D), name)
  }

  var size: Size { Size(width: width, height: height) }
  var bounds: Rectangle { Rectangle(all: size) }

  borrowing func bind(unit: Int) {
    glActiveTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
    glBindTexture(Texture.target(layers), name)
  }

  /// Makes it the image that a compute shader writes as `binding`. It must be a single picture.
  borrowing func bindImage(_ binding: Int) {
    let access = GLenum(GL_WRITE_ONLY)
    glBindImageTexture(GLuint(binding), name, 0, GLboolean(GL_FALSE), 0, access, format.internalFormat)
  }

  /// Attaches it to the bound framebuffer as the shader's first output, or its layers as the outputs from the
  /// first on.
  borrowing func attach() {
    let (framebuffer, first) = (GLenum(GL_FRAMEBUFFER), GLenum(GL_COLOR_ATTACHMENT0))
    guard layers > 0 else {
      return glFramebufferTexture2D(framebuffer, first, GLenum(GL_TEXTURE_2D), name, 0)
    }
    for layer in 0..<layers {
      glFramebufferTextureLayer(framebuffer, first + GLenum(layer), name, 0, GLint(layer))
    }
  }

  /// Replaces a region, or all of it.
  ///
  /// `rows` begins with the region's first texel. Rows are `bytesPerRow` apart, which may be any number that
  /// holds a row. The last row may end with its texels; nothing after them is read.
  borrowing func replace(
    with rows: Span<UInt8>, bytesPerRow: Int, in region: Rectangle? = nil
  ) throws(GLError) {
    try unsafe replace(region ?? bounds, with: rows.bytes, bytesPerRow: bytesPerRow)
  }

  /// Replaces all of it by the words of a table, without padding.
  borrowing func replace(with table: Span<UInt32>) throws(GLError) {
    try unsafe replace(bounds, with: table.bytes, bytesPerRow: width * format.bytesPerTexel)
  }

  private borrowing func replace(
    _ region: Rectangle, with rows: RawSpan, bytesPerRow: Int
  ) throws(GLError) {
    try check(region, count: rows.byteCount, bytesPerRow: bytesPerRow)
    Texture.bindForChange(name)
    glBindBuffer(GLenum(GL_PIXEL_UNPACK_BUFFER), 0)
    unsafe rows.withUnsafeBytes { rows in
      guard let first = rows.baseAddress else { return }
      if bytesPerRow % format.bytesPerTexel == 0,
        let texels = GLint(exactly: bytesPerRow / format.bytesPerTexel)
      {
        glPixelStorei(GLenum(GL_UNPACK_ROW_LENGTH), texels)
        unsafe upload(first, region)
        glPixelStorei(GLenum(GL_UNPACK_ROW_LENGTH), 0)
      } else {
        unsafe uploadPacked(first, bytesPerRow: bytesPerRow, region)
      }
    }
    try GLError.check("uploading \(region) of a \(width)x\(height) \(format) texture")
  }

  /// Makes the GPU copy a region, or all of it, from the start of a buffer, with rows without padding. Does
  /// not wait.
  borrowing func replace(
    from buffer: borrowing PixelBuffer, in region: Rectangle? = nil
  ) throws(GLError) {
    let region = region ?? bounds
    try check(region, count: buffer.byteCount, bytesPerRow: region.width &* format.bytesPerTexel)
    Texture.bindForChange(name)
    buffer.bind()
    unsafe upload(nil, region)
    buffer.unbind()
    try GLError.check("uploading \(region) of a \(width)x\(height) \(format) texture from a pixel buffer")
  }

  /// Copies texels from the same position of the bound framebuffer.
  borrowing func replaceWithFramebuffer(_ region: Rectangle) {
    Texture.bindForChange(name)
    glCopyTexSubImage2D(
      GLenum(GL_TEXTURE_2D), 0, GLint(region.x), GLint(region.y), GLint(region.x), GLint(region.y),
      GLsizei(region.width), GLsizei(region.height))
  }

  private borrowing func check(_ region: Rectangle, count: Int, bytesPerRow: Int) throws(GLError) {
    let activity = "uploading \(region) of a \(width)x\(height) \(format) texture"
    guard region.isInside(size) else {
      throw GLError(activity, .bounds("not inside it"))
    }
    guard let needed = region.byteCount(bytesPerRow: bytesPerRow, bytesPerTexel: format.bytesPerTexel) else {
      throw GLError(activity, .bounds("rows of \(bytesPerRow) bytes do not hold \(region.width) texels"))
    }
    guard count >= needed else { throw GLError(activity, .size(needed: needed, given: count)) }
  }

  /// Uploads rows whose stride is not a whole number of texels: they are first packed, in bands of at most
  /// 256 KiB.
  private borrowing func uploadPacked(_ first: UnsafeRawPointer, bytesPerRow: Int, _ region: Rectangle) {
    let tightRow = region.width * format.bytesPerTexel
    let rowsPerBand = min(region.height, max(1, (256 << 10) / tightRow))
    unsafe withUnsafeTemporaryAllocation(byteCount: rowsPerBand * tightRow, alignment: 16) { band in
      guard let bandStart = band.baseAddress else { return }
      for top in stride(from: 0, to: region.height, by: rowsPerBand) {
        let height = min(rowsPerBand, region.height - top)
        for row in 0..<height {
          unsafe (bandStart + row * tightRow).copyMemory(
            from: first + (top + row) * bytesPerRow, byteCount: tightRow)
        }
        unsafe upload(
          UnsafeRawPointer(bandStart),
          Rectangle(x: region.x, y: region.y + top, width: region.width, height: height))
      }
    }
  }

  /// Uploads from memory, or from the first byte of the bound buffer.
  private borrowing func upload(_ rows: UnsafeRawPointer?, _ region: Rectangle) {
    unsafe glTexSubImage2D(
      GLenum(GL_TEXTURE_2D), 0, GLint(region.x), GLint(region.y), GLsizei(region.width),
      GLsizei(region.height), format.upload.format, format.upload.type, rows)
  }
}

@available(*, unavailable) extension Texture: Sendable {}
