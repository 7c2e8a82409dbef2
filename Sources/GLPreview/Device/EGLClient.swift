// EGL's client extensions, which can be queried without a display.
internal import CEGL

/// EGL without a display.
enum EGLClient {
  /// Whether EGL or any of its drivers has a client extension.
  static func has(_ name: Substring) -> Bool { extensions.contains(name) }

  /// Empty if no driver is installed.
  static let extensions = unsafe Set(
    (String(lent: eglQueryString(glp_egl_no_display(), EGL_EXTENSIONS)) ?? "").split(separator: " "))
}

extension String {
  /// Copies a C string.
  @unsafe init?(lent text: UnsafePointer<CChar>?) {
    guard let text = unsafe text else { return nil }
    self = unsafe String(cString: text)
  }
}
