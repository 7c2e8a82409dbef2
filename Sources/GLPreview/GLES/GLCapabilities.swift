// The abilities of a context, queried once.
internal import CGLES

/// A version of OpenGL ES or of EGL.
package struct GLVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The first number: 3 of 3.2.
  package let major: Int
  /// The second number: 2 of 3.2.
  package let minor: Int

  package init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Such as "3.2".
  package var description: String { "\(major).\(minor)" }

  package static func < (a: GLVersion, b: GLVersion) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}

/// The properties of a context that decide how it is used. As a value it can outlive the context and leave its
/// thread.
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

  /// Whether a feature is available, as an extension or in `version`.
  func has(_ name: String, orVersion version: GLVersion) -> Bool {
    self.version >= version || extensions.contains(name)
  }

  /// Whether an extension is available that is not part of any version.
  func has(_ name: String) -> Bool { extensions.contains(name) }

  private static func integer(_ name: Int32) -> Int {
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
