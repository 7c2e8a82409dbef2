// A buffer that shaders read as texels of sixteen bytes, bypassing texture layouts.
internal import CGLES

/// A buffer and its texture: `usamplerBuffer` with four words per texel. Requires OpenGL ES 3.2.
@safe struct TexelBuffer: ~Copyable {
  /// A multiple of `bytesPerTexel`.
  let byteCount: Int
  /// The persistently mapped memory, which any thread may write before a draw reads it; nil if it is not mapped.
  let mapped: UnsafeMutableRawBufferPointer?
  private let buffer: GLuint
  private let texture: GLuint
  private let lease: MemoryLease?

  static let bytesPerTexel = 16

  static var canStayMapped: Bool { GLCapabilities().has("GL_EXT_buffer_storage") }

  static var maximumByteCount: Int {
    GLCapabilities.integer(GL_MAX_TEXTURE_BUFFER_SIZE) * bytesPerTexel
  }

  /// Creates a buffer of at least `byteCount` bytes with undefined content.
  init(byteCount: Int, staysMapped: Bool = false) throws(GLError) {
    let unit = TexelBuffer.bytesPerTexel
    let byteCount = (byteCount + unit - 1) / unit * unit
    let memory = GLMemory.reserve(byteCount)
    var (buffer, texture): (GLuint, GLuint) = (0, 0)
    unsafe glGenBuffers(1, &buffer)
    unsafe glGenTextures(1, &texture)
    (self.buffer, self.texture, self.byteCount, lease) = (buffer, texture, byteCount, memory.lease)
    GLLedger.add(.texelBuffer)
    let target = GLenum(GL_TEXTURE_BUFFER)
    glBindBuffer(target, buffer)
    unsafe mapped = staysMapped && memory.shortage == nil ? TexelBuffer.mappedStorage(byteCount) : nil
    let activity = "a texel buffer of \(byteCount) bytes"
    try memory.check(activity)
    if !staysMapped { glBufferData(target, byteCount, nil, GLenum(GL_STREAM_DRAW)) }
    glActiveTexture(GLenum(GL_TEXTURE0) + 15)
    glBindTexture(target, texture)
    glTexBuffer(target, GLenum(GL_RGBA32UI), buffer)
    try GLError.check(activity)
    if staysMapped, unsafe mapped == nil { throw GLError(activity, .flag(GLenum(GL_OUT_OF_MEMORY))) }
  }

  deinit {
    unsafe withUnsafePointer(to: texture) { unsafe glDeleteTextures(1, $0) }
    unsafe withUnsafePointer(to: buffer) { unsafe glDeleteBuffers(1, $0) }
    GLLedger.remove(.texelBuffer)
  }

  private static func mappedStorage(_ byteCount: Int) -> UnsafeMutableRawBufferPointer? {
    let access = GLbitfield(
      GL_MAP_READ_BIT | GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT_EXT | GL_MAP_COHERENT_BIT_EXT)
    guard glp_gl_buffer_storage(GLenum(GL_TEXTURE_BUFFER), byteCount, access) else { return nil }
    guard let start = unsafe glMapBufferRange(GLenum(GL_TEXTURE_BUFFER), 0, byteCount, access) else {
      return nil
    }
    return unsafe UnsafeMutableRawBufferPointer(start: start, count: byteCount)
  }

  borrowing func bind(unit: Int) {
    glActiveTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
    glBindTexture(GLenum(GL_TEXTURE_BUFFER), texture)
  }

  borrowing func replace(with bytes: Span<UInt8>) throws(GLError) {
    guard bytes.count <= byteCount else {
      throw GLError("filling a texel buffer", .size(needed: bytes.count, given: byteCount))
    }
    glBindBuffer(GLenum(GL_TEXTURE_BUFFER), buffer)
    unsafe bytes.withUnsafeBufferPointer {
      unsafe glBufferSubData(GLenum(GL_TEXTURE_BUFFER), 0, $0.count, $0.baseAddress)
    }
    try GLError.check("filling a texel buffer of \(byteCount) bytes")
  }
}

@available(*, unavailable) extension TexelBuffer: Sendable {}
