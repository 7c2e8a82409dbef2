// A texture that passes draw into and that can be read back.
internal import CGLES

struct RenderTarget: ~Copyable {
  /// The drawn texels; later passes may read them.
  let texture: Texture
  private let framebuffer: GLuint
  private let outputCount: Int

  /// Takes ownership of a texture, whose format must be renderable. The layers of an array are the shader's
  /// outputs from location 0 on. `others` are at most three textures for outputs from location 1 on; they
  /// must outlive the target.
  init(_ texture: consuming Texture, others: [GLuint] = []) throws(GLError) {
    var framebuffer: GLuint = 0
    unsafe glGenFramebuffers(1, &framebuffer)
    self.framebuffer = framebuffer
    outputCount = max(texture.layers, 1) + others.count
    self.texture = texture
    GLLedger.add(.framebuffer)
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    self.texture.attach()
    for (index, other) in others.enumerated() {
      glFramebufferTexture2D(
        GLenum(GL_FRAMEBUFFER), GLenum(GL_COLOR_ATTACHMENT0) + GLenum(index + 1), GLenum(GL_TEXTURE_2D),
        other, 0)
    }
    let attachments = (0..<outputCount).map { GLenum(GL_COLOR_ATTACHMENT0) + GLenum($0) }
    unsafe glDrawBuffers(GLsizei(attachments.count), attachments)
    let activity = "a \(self.texture.width)x\(self.texture.height) \(self.texture.format) render target"
    let status = glCheckFramebufferStatus(GLenum(GL_FRAMEBUFFER))
    try GLError.check(activity)
    guard status == GLenum(GL_FRAMEBUFFER_COMPLETE) else { throw GLError(activity, .framebuffer(status)) }
  }

  deinit {
    unsafe withUnsafePointer(to: framebuffer) { unsafe glDeleteFramebuffers(1, $0) }
    GLLedger.remove(.framebuffer)
  }

  /// Directs the next draws to a region, or to all of it.
  borrowing func begin(_ viewport: Rectangle? = nil) {
    let viewport = viewport ?? texture.bounds
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    glViewport(GLint(viewport.x), GLint(viewport.y), GLsizei(viewport.width), GLsizei(viewport.height))
  }

  /// Makes the content undefined, so that a GPU that draws tile by tile does not load it for the next draw.
  borrowing func discard() {
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    let attachments = (0..<outputCount).map { GLenum(GL_COLOR_ATTACHMENT0) + GLenum($0) }
    unsafe glInvalidateFramebuffer(GLenum(GL_FRAMEBUFFER), GLsizei(attachments.count), attachments)
  }

  /// Fills all of it with one colour, 0...1 each; only for `rgba8`.
  borrowing func clear(_ color: SIMD4<Float>) {
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    glClearColor(color.x, color.y, color.z, color.w)
    glClear(GLbitfield(GL_COLOR_BUFFER_BIT))
  }

  /// Fills a region, or all, with words; only for `rgba32ui`.
  borrowing func fill(with words: SIMD4<UInt32>, _ region: Rectangle? = nil) {
    let region = region ?? texture.bounds
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    glEnable(GLenum(GL_SCISSOR_TEST))
    glScissor(GLint(region.x), GLint(region.y), GLsizei(region.width), GLsizei(region.height))
    unsafe glClearBufferuiv(GLenum(GL_COLOR), 0, [words.x, words.y, words.z, words.w])
    glDisable(GLenum(GL_SCISSOR_TEST))
  }

  /// Copies a region to the same position of a texture of the same format.
  borrowing func copy(_ region: Rectangle, to other: borrowing Texture) {
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    glReadBuffer(GLenum(GL_COLOR_ATTACHMENT0))
    other.replaceWithFramebuffer(region)
  }

  /// The bytes of a texel as `read` returns it: 4 for `rgba8`, otherwise 16 (four 32-bit words).
  var bytesPerReadTexel: Int { texture.format.readback.bytesPerTexel }

  /// Waits for the draws and copies a region, or all of it, to `bytes`: first row first, without padding.
  borrowing func read(into bytes: inout [UInt8], _ region: Rectangle? = nil) throws(GLError) {
    let tightRow = (region ?? texture.bounds).width &* bytesPerReadTexel
    var span = bytes.mutableSpan
    try unsafe span.withUnsafeMutableBytes { bytes throws(GLError) in
      try unsafe read(into: bytes, bytesPerRow: tightRow, region)
    }
  }

  /// Waits for the draws and copies a region, or all of it, to rows that are `bytesPerRow` apart, a multiple
  /// of `bytesPerReadTexel`.
  @unsafe borrowing func read(
    into memory: UnsafeMutableRawBufferPointer, bytesPerRow: Int, _ region: Rectangle? = nil,
    attachment: Int = 0
  ) throws(GLError) {
    let region = region ?? texture.bounds
    try check(region, count: memory.count, bytesPerRow: bytesPerRow)
    glBindBuffer(GLenum(GL_PIXEL_PACK_BUFFER), 0)
    unsafe read(to: memory.baseAddress, bytesPerRow: bytesPerRow, region, attachment: attachment)
    try GLError.check("reading back \(region)")
  }

  /// Makes the GPU copy a region, or all of it, into a buffer, without waiting. Rows are `bytesPerRow` apart
  /// (a multiple of `bytesPerReadTexel`), or have no padding.
  borrowing func read(
    into buffer: borrowing PixelBuffer, at offset: Int = 0, bytesPerRow: Int? = nil,
    _ region: Rectangle? = nil, attachment: Int = 0
  ) throws(GLError) {
    let region = region ?? texture.bounds
    let bytesPerRow = bytesPerRow ?? region.width &* bytesPerReadTexel
    let room = (0...buffer.byteCount).contains(offset) ? buffer.byteCount - offset : 0
    try check(region, count: room, bytesPerRow: bytesPerRow)
    buffer.bindForPacking()
    let start = unsafe UnsafeMutableRawPointer(bitPattern: offset)
    unsafe read(to: start, bytesPerRow: bytesPerRow, region, attachment: attachment)
    buffer.unbindFromPacking()
    try GLError.check("reading back \(region) into a pixel buffer")
  }

  private borrowing func check(_ region: Rectangle, count: Int, bytesPerRow: Int) throws(GLError) {
    let activity = "reading back \(region) of a \(texture.width)x\(texture.height) \(texture.format) target"
    guard region.isInside(texture.size) else {
      throw GLError(activity, .bounds("not inside it"))
    }
    guard bytesPerRow % bytesPerReadTexel == 0, GLint(exactly: bytesPerRow / bytesPerReadTexel) != nil,
      let needed = region.byteCount(bytesPerRow: bytesPerRow, bytesPerTexel: bytesPerReadTexel)
    else {
      throw GLError(activity, .bounds("rows of \(bytesPerRow) bytes do not hold \(region.width) texels"))
    }
    guard count >= needed else { throw GLError(activity, .size(needed: needed, given: count)) }
  }

  private borrowing func read(
    to memory: UnsafeMutableRawPointer?, bytesPerRow: Int, _ region: Rectangle, attachment: Int
  ) {
    let layout = texture.format.readback.layout
    glBindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
    glReadBuffer(GLenum(GL_COLOR_ATTACHMENT0) + GLenum(attachment))
    glPixelStorei(GLenum(GL_PACK_ROW_LENGTH), GLint(bytesPerRow / bytesPerReadTexel))
    unsafe glReadPixels(
      GLint(region.x), GLint(region.y), GLsizei(region.width), GLsizei(region.height), layout.format,
      layout.type, memory)
    glPixelStorei(GLenum(GL_PACK_ROW_LENGTH), 0)
  }
}

@available(*, unavailable) extension RenderTarget: Sendable {}
