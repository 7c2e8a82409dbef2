// Memory that shaders read as whole texels of sixteen bytes, without a texture's way of storing them.
internal import CGLES

/// A buffer and the texture that shows it: `usamplerBuffer`, four words a texel. Of OpenGL ES 3.2.
///
/// Lives and ends on the thread whose context is current; not `Sendable`, so the compiler keeps it there.
struct TexelBuffer: ~Copyable {
  /// A multiple of `bytesPerTexel`.
  let byteCount: Int
  private let buffer: GLuint
  private let texture: GLuint

  static let bytesPerTexel = 16

  /// Room for at least `byteCount` bytes. What is in it at first is not defined.
  init(byteCount: Int) throws(GLError) {
    let byteCount =
      (byteCount + TexelBuffer.bytesPerTexel - 1) / TexelBuffer.bytesPerTexel * TexelBuffer.bytesPerTexel
    self.byteCount = byteCount
    var (buffer, texture): (GLuint, GLuint) = (0, 0)
    unsafe glGenBuffers(1, &buffer)
    unsafe glGenTextures(1, &texture)
    (self.buffer, self.texture) = (buffer, texture)
    GLLedger.add(.texelBuffer)
    let target = GLenum(GL_TEXTURE_BUFFER)
    glBindBuffer(target, buffer)
    glBufferData(target, byteCount, nil, GLenum(GL_STREAM_DRAW))
    glActiveTexture(GLenum(GL_TEXTURE0) + 15)
    glBindTexture(target, texture)
    glTexBuffer(target, GLenum(GL_RGBA32UI), buffer)
    try GLError.check("a texel buffer of \(byteCount) bytes")
  }

  deinit {
    unsafe withUnsafePointer(to: texture) { unsafe glDeleteTextures(1, $0) }
    unsafe withUnsafePointer(to: buffer) { unsafe glDeleteBuffers(1, $0) }
    GLLedger.remove(.texelBuffer)
  }

  /// Makes it what the sampler of texture unit `unit` reads.
  borrowing func bind(unit: Int) {
    glActiveTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
    glBindTexture(GLenum(GL_TEXTURE_BUFFER), texture)
  }

  /// Takes new bytes from `offset` on.
  borrowing func replace(with bytes: Span<UInt8>, at offset: Int = 0) throws(GLError) {
    guard offset >= 0, offset <= byteCount, bytes.count <= byteCount - offset else {
      throw GLError("filling a texel buffer", .size(needed: offset + bytes.count, given: byteCount))
    }
    glBindBuffer(GLenum(GL_TEXTURE_BUFFER), buffer)
    unsafe bytes.withUnsafeBufferPointer {
      unsafe glBufferSubData(GLenum(GL_TEXTURE_BUFFER), offset, $0.count, $0.baseAddress)
    }
    try GLError.check("filling a texel buffer of \(byteCount) bytes")
  }
}

@available(*, unavailable) extension TexelBuffer: Sendable {}
