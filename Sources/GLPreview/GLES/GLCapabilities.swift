// What a context can do, asked once.
internal import CGLES

/// A version of OpenGL ES or of EGL.
package struct GLVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The 3 of 3.2.
  package let major: Int
  /// The 2 of 3.2.
  package let minor: Int

  /// A version by its two numbers.
  package init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Such as "3.2".
  package var description: String { "\(major).\(minor)" }

  /// Older is less.
  package static func < (a: GLVersion, b: GLVersion) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}

/// The facts of a context that decide how it is used. A value: it may outlive the context and leave its thread.
struct GLCapabilities: Sendable, Equatable {
  let version: GLVersion
  /// As the driver says it: "OpenGL ES 3.2 Mesa 22.3.6".
  let versionText: String
  /// Who made the driver: "Mesa", "Intel", "NVIDIA Corporation".
  let vendor: String
  /// What draws: "llvmpipe (LLVM 15.0.6, 256 bits)".
  let renderer: String
  /// The longest side of a texture, in texels; at least 2048.
  let maximumTextureSize: Int
  private let extensions: Set<String>

  /// Asks the current context.
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

  /// Whether an ability is there, as an extension or as a part of `version`.
  func has(_ name: String, orVersion version: GLVersion) -> Bool {
    self.version >= version || extensions.contains(name)
  }

  /// Whether an extension is there that no version has taken in.
  func has(_ name: String) -> Bool { extensions.contains(name) }

  private static func integer(_ name: Int32) -> Int {
    var value: GLint = 0
    unsafe glGetIntegerv(GLenum(name), &value)
    return Int(value)
  }

  /// A copy of what OpenGL says.
  @unsafe static func text(_ bytes: UnsafePointer<GLubyte>?) -> String {
    guard let bytes = unsafe bytes else { return "" }
    return unsafe String(cString: bytes)
  }
}
