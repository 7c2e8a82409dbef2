// The state that every context starts with, and that nobody changes.
internal import CGLES

/// Where OpenGL's own defaults would change what a shader wrote or how rows lie in memory.
enum GLDefaults {
  /// Sets them in the current context.
  static func apply() {
    // On by default; it may add noise to what a shader writes into eight bits.
    glDisable(GLenum(GL_DITHER))
    // Rows begin at any byte, not at every fourth.
    glPixelStorei(GLenum(GL_UNPACK_ALIGNMENT), 1)
    glPixelStorei(GLenum(GL_PACK_ALIGNMENT), 1)
  }
}
