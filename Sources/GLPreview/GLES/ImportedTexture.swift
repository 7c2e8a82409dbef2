// A texture that shows memory of another device.
internal import CGLES

/// Texels of four bytes, read individually, as parts of 255. Reading them is right when the device has written them.
struct ImportedTexture: ~Copyable {
  let size: Size
  private let target: GLenum
  private let name: GLuint

  /// Shows an image of EGL, which must outlive this; `isExternal` where only samplers of that kind read it.
  init(_ image: UnsafeMutableRawPointer, _ size: Size, isExternal: Bool) throws(GLError) {
    var name: GLuint = 0
    unsafe glGenTextures(1, &name)
    (self.name, self.size) = (name, size)
    target = GLenum(isExternal ? GL_TEXTURE_EXTERNAL_OES : GL_TEXTURE_2D)
    GLLedger.add(.texture)
    glActiveTexture(Texture.unitForChange)
    glBindTexture(target, name)
    unsafe setImage(image)
    for parameter in [GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER] {
      glTexParameteri(target, GLenum(parameter), GL_NEAREST)
    }
    try GLError.check("a texture of an image of \(size)")
  }

  deinit {
    unsafe withUnsafePointer(to: name) { unsafe glDeleteTextures(1, $0) }
    GLLedger.remove(.texture)
  }

  /// Makes the driver look at the image's memory again.
  borrowing func refresh(_ image: UnsafeMutableRawPointer) throws(GLError) {
    glActiveTexture(Texture.unitForChange)
    glBindTexture(target, name)
    unsafe setImage(image)
    try GLError.check("a texture of an image of \(size)")
  }

  /// Where the driver has not the function, the texture has no size, and drawing gives black: such a driver lacks the extension
  /// that is asked for before.
  private borrowing func setImage(_ image: UnsafeMutableRawPointer) {
    _ = unsafe glp_gl_texture_image(target, image)
  }

  borrowing func bind(unit: Int) {
    glActiveTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
    glBindTexture(target, name)
  }
}

@available(*, unavailable) extension ImportedTexture: Sendable {}
