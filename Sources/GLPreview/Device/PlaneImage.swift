// A plane of a frame in another device's memory, as an image of EGL that textures show.
internal import CEGL

/// An image of rows in a dma-buf, with four bytes a texel.
@safe struct PlaneImage: ~Copyable {
  // Used on the context's thread alone.
  private let display: EGLDisplay
  private let image: EGLImageKHR

  /// DRM_FORMAT_ABGR8888: red in the lowest byte, so that a texel's components are the bytes in their order.
  private static let format = EGLint(bitPattern: 0x3432_4241)

  /// How samplers read such images.
  enum Reading { case any, external }

  /// How a display's contexts read images; nil if it imports no buffers.
  static func reading(on display: GPUDisplay) -> Reading? {
    guard display.has("EGL_EXT_image_dma_buf_import"), display.has("EGL_KHR_image_base") else { return nil }
    guard display.has("EGL_EXT_image_dma_buf_import_modifiers") else { return .any }
    return switch unsafe glp_egl_linear_format(display.handle, format) {
    case 0: .any
    case 1: .external
    default: nil
    }
  }

  /// Imports a plane: `size` in texels, rows `stride` bytes apart from byte `offset` on; `passesLinear`
  /// passes the modifier for rows that follow one another, where the driver accepts modifiers.
  init(
    of buffer: DMABuffer, _ size: Size, offset: Int, stride: Int, passesLinear: Bool
  ) throws(EGLError) {
    let activity = "importing a plane of \(size) texels"
    guard let display = unsafe eglGetCurrentDisplay(), let width = EGLint(exactly: size.width),
      let height = EGLint(exactly: size.height), let offset = EGLint(exactly: offset),
      let stride = EGLint(exactly: stride)
    else { throw EGLError(activity, .missing("a display")) }
    guard
      let image = unsafe glp_egl_import(
        display, buffer.descriptor, Self.format, width, height, offset, stride, passesLinear)
    else { throw .last(activity) }
    unsafe (self.display, self.image) = (display, image)
  }

  deinit { unsafe glp_egl_destroy_image(display, image) }

  /// The handle that OpenGL takes.
  var handle: UnsafeMutableRawPointer { unsafe image }
}
