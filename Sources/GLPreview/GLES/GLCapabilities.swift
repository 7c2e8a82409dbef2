// A context as a whole: its abilities, queried once, its state and its command stream.
internal import CGLES

package struct GLVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let major: Int
  package let minor: Int

  package init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  package var description: String { "\(major).\(minor)" }

  package static func < (a: GLVersion, b: GLVersion) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}

/// The properties of a context that decide how it is used. As a value it can outlive the context and leave
/// its thread.
struct GLCapabilities: Sendable, Equatable {
  let version: GLVersion
  /// The driver's version string: "OpenGL ES 3.2 Mesa 22.3.6".
  let versionText: String
  /// The driver's vendor: "Mesa", "Intel", "NVIDIA Corporation".
  let vendor: String
  /// The renderer: "llvmpipe (LLVM 15.0.6, 256 bits)".
  let renderer: String
  /// The longest side of a texture, in texels; at least 2048.
  let maximumTextureSize: Int
  private let extensions: Set<String>

  /// Queries the current context.
  init() {
    version = GLVersion(Self.integer(GL_MAJOR_VERSION), Self.integer(GL_MINOR_VERSION))
    versionText = unsafe Self.text(glGetString(GLenum(GL_VERSION)))
    vendor = unsafe Self.text(glGetString(GLenum(GL_VENDOR)))
    renderer = unsafe Self.text(glGetString(GLenum(GL_RENDERER)))
    maximumTextureSize = Self.integer(GL_MAX_TEXTURE_SIZE)
    extensions = Set(
      (0..<Self.integer(GL_NUM_EXTENSIONS)).map {
        unsafe Self.text(glGetStringi(GLenum(GL_EXTENSIONS), GLuint($0)))
      })
  }

  func has(_ name: String) -> Bool { extensions.contains(name) }

  /// An integer of the current context's state.
  static func integer(_ name: Int32) -> Int {
    var value: GLint = 0
    unsafe glGetIntegerv(GLenum(name), &value)
    return Int(value)
  }

  /// Copies a string of OpenGL's.
  @unsafe static func text(_ bytes: UnsafePointer<GLubyte>?) -> String {
    guard let bytes = unsafe bytes else { return "" }
    return unsafe String(cString: bytes)
  }
}

enum GLCommands {
  /// Replaces the defaults of a new context that would alter shader output or the layout of rows.
  static func replaceDefaults() {
    // On by default; it may add noise to eight-bit output.
    glDisable(GLenum(GL_DITHER))
    // Rows may begin at any byte instead of every fourth.
    glPixelStorei(GLenum(GL_UNPACK_ALIGNMENT), 1)
    glPixelStorei(GLenum(GL_PACK_ALIGNMENT), 1)
  }

  /// Orders what compute shaders write after all that was asked for before, and before all that is asked for next.
  static func orderWrites() {
    glMemoryBarrier(
      GLbitfield(
        GL_SHADER_IMAGE_ACCESS_BARRIER_BIT | GL_TEXTURE_FETCH_BARRIER_BIT | GL_FRAMEBUFFER_BARRIER_BIT
          | GL_TEXTURE_UPDATE_BARRIER_BIT | GL_SHADER_STORAGE_BARRIER_BIT | GL_PIXEL_BUFFER_BARRIER_BIT
          | GL_BUFFER_UPDATE_BARRIER_BIT))
  }

  /// Unbinds what compute shaders write.
  static func unbindWritten() {
    for unit in 0..<GLuint(2) {
      glBindImageTexture(
        unit, 0, 0, GLboolean(GL_FALSE), 0, GLenum(GL_WRITE_ONLY), GLenum(GL_RGBA8))
    }
    glBindBufferBase(GLenum(GL_SHADER_STORAGE_BUFFER), 0, 0)
  }

  /// Unbinds the memory of the shaders that code pictures.
  static func unbindCoding() {
    for binding in 0..<GLuint(4) { glBindBufferBase(GLenum(GL_SHADER_STORAGE_BUFFER), binding, 0) }
    glBindBufferBase(GLenum(GL_UNIFORM_BUFFER), 0, 0)
  }

  /// The largest buffer that shaders write as storage: at least 128 MiB (OpenGL ES 3.1).
  static let maximumStorageSize = 128 << 20

  /// Waits until the GPU has executed all commands. For measurements only, never while serving pictures.
  static func finish() { glFinish() }
}
