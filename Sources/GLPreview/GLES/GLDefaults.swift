// Initial state of every context, never changed afterwards.
internal import CGLES

/// Replaces OpenGL defaults that would alter shader output or the layout of rows.
enum GLDefaults {
  /// Applies the state to the current context.
  static func apply() {
    // On by default; it may add noise to eight-bit output.
    glDisable(GLenum(GL_DITHER))
    // Rows may begin at any byte instead of every fourth.
    glPixelStorei(GLenum(GL_UNPACK_ALIGNMENT), 1)
    glPixelStorei(GLenum(GL_PACK_ALIGNMENT), 1)
  }
}
