// Memory that the GPU fills with a picture while we do something else.
internal import CGLES

/// A pixel-pack buffer: `RenderTarget.read(into:)` starts a copy, a `Fence` tells that it is done, `withBytes` reads it.
///
/// Lives and ends on the thread whose context is current; not `Sendable`, so the compiler keeps it there.
struct PixelBuffer: ~Copyable {
  let byteCount: Int
  private let name: GLuint

  init(byteCount: Int) throws(GLError) {
    var name: GLuint = 0
    unsafe glGenBuffers(1, &name)
    self.name = name
    self.byteCount = byteCount
    GLLedger.add(.pixelBuffer)
    bind()
    glBufferData(GLenum(GL_PIXEL_PACK_BUFFER), byteCount, nil, GLenum(GL_STREAM_READ))
    unbind()
    try GLError.check("a pixel buffer of \(byteCount) bytes")
  }

  deinit {
    unsafe withUnsafePointer(to: name) { unsafe glDeleteBuffers(1, $0) }
    GLLedger.remove(.pixelBuffer)
  }

  borrowing func bind() { glBindBuffer(GLenum(GL_PIXEL_PACK_BUFFER), name) }
  borrowing func unbind() { glBindBuffer(GLenum(GL_PIXEL_PACK_BUFFER), 0) }

  /// Maps the first `count` bytes, or all, for as long as `body` runs. Waits if the copy into them is not done.
  borrowing func withBytes<Result>(
    first count: Int? = nil, _ body: (Span<UInt8>) -> Result
  ) throws(GLError) -> Result {
    let count = count ?? byteCount
    let activity = "mapping \(count) bytes of a pixel buffer"
    guard count > 0, count <= byteCount else {
      throw GLError(activity, .size(needed: count, given: byteCount))
    }
    bind()
    defer { unbind() }
    let target = GLenum(GL_PIXEL_PACK_BUFFER)
    let memory = unsafe glMapBufferRange(target, 0, count, GLbitfield(GL_MAP_READ_BIT))
    try GLError.check(activity)
    guard let memory = unsafe memory else { throw GLError(activity, .flag(GLenum(GL_OUT_OF_MEMORY))) }
    let result = unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(start: memory, count: count)))
    // False if the memory was lost meanwhile (a change of mode, a reset): then what was read is not the picture.
    guard glUnmapBuffer(target) == GLboolean(GL_TRUE) else {
      throw GLError("unmapping a pixel buffer", .flag(GLenum(GL_CONTEXT_LOST)))
    }
    return result
  }
}

@available(*, unavailable) extension PixelBuffer: Sendable {}
