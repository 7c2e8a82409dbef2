// A buffer that shaders read as texels of one, eight or sixteen bytes, bypassing texture layouts.
internal import CGLES

/// A buffer and its textures, each a `usamplerBuffer`. Requires OpenGL ES 3.2.
@safe struct TexelBuffer: ~Copyable {
  /// A multiple of `bytesPerTexel`.
  let byteCount: Int
  /// The persistently mapped memory, which any thread may write before a draw reads it; nil if it is not
  /// mapped.
  let mapped: UnsafeMutableRawBufferPointer?
  private let buffer: GLuint
  private let textures: [View: GLuint]
  private let lease: MemoryLease?

  static let bytesPerTexel = 16

  /// The texels as which shaders read the buffer, by their size in bytes.
  enum View: Int, CaseIterable {
    case bytes = 1
    /// Two words.
    case pairs = 8
    /// Four words.
    case texels = 16

    fileprivate var format: GLenum {
      switch self {
      case .bytes: GLenum(GL_R8UI)
      case .pairs: GLenum(GL_RG32UI)
      case .texels: GLenum(GL_RGBA32UI)
      }
    }
  }

  static var canStayMapped: Bool { GLCapabilities().has("GL_EXT_buffer_storage") }

  static var maximumByteCount: Int {
    GLCapabilities.integer(GL_MAX_TEXTURE_BUFFER_SIZE) * View.pairs.rawValue
  }

  /// Creates a buffer of at least `byteCount` bytes with undefined content.
  init(byteCount: Int, staysMapped: Bool = false) throws(GLError) {
    let unit = TexelBuffer.bytesPerTexel
    let byteCount = (byteCount + unit - 1) / unit * unit
    let memory = GLMemory.reserve(byteCount)
    var buffer: GLuint = 0
    unsafe glGenBuffers(1, &buffer)
    var textures: [View: GLuint] = [:]
    for view in View.allCases {
      var texture: GLuint = 0
      unsafe glGenTextures(1, &texture)
      textures[view] = texture
    }
    (self.buffer, self.textures, self.byteCount, lease) = (buffer, textures, byteCount, memory.lease)
    GLLedger.add(.texelBuffer)
    let target = GLenum(GL_TEXTURE_BUFFER)
    glBindBuffer(target, buffer)
    unsafe mapped = staysMapped && memory.shortage == nil ? TexelBuffer.mappedStorage(byteCount) : nil
    let activity = "a texel buffer of \(byteCount) bytes"
    try memory.check(activity)
    if !staysMapped { glBufferData(target, byteCount, nil, GLenum(GL_STREAM_DRAW)) }
    glActiveTexture(GLenum(GL_TEXTURE0) + 15)
    for (view, texture) in textures {
      glBindTexture(target, texture)
      glTexBuffer(target, view.format, buffer)
    }
    try GLError.check(activity)
    if staysMapped, unsafe mapped == nil { throw GLError(activity, .flag(GLenum(GL_OUT_OF_MEMORY))) }
  }

  deinit {
    unsafe glDeleteTextures(GLsizei(textures.count), Array(textures.values))
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

  borrowing func bind(unit: Int, as view: View = .texels) {
    glActiveTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
    glBindTexture(GLenum(GL_TEXTURE_BUFFER), textures[view] ?? 0)
  }

  borrowing func replace(with bytes: Span<UInt8>) throws(GLError) { try unsafe replace(with: bytes.bytes) }

  borrowing func replace(with words: Span<UInt32>) throws(GLError) { try unsafe replace(with: words.bytes) }

  private borrowing func replace(with bytes: RawSpan) throws(GLError) {
    guard bytes.byteCount <= byteCount else {
      throw GLError("filling a texel buffer", .size(needed: bytes.byteCount, given: byteCount))
    }
    glBindBuffer(GLenum(GL_TEXTURE_BUFFER), buffer)
    unsafe bytes.withUnsafeBytes {
      unsafe glBufferSubData(GLenum(GL_TEXTURE_BUFFER), 0, $0.count, $0.baseAddress)
    }
    try GLError.check("filling a texel buffer of \(byteCount) bytes")
  }
}

@available(*, unavailable) extension TexelBuffer: Sendable {}
