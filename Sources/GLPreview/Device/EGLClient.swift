// What EGL tells before there is a display: its client extensions.
internal import CEGL

/// EGL without a display.
enum EGLClient {
  /// Whether EGL, or any of its drivers, has a client extension.
  static func has(_ name: Substring) -> Bool { extensions.contains(name) }

  /// Empty where no driver is installed.
  static let extensions = unsafe Set(
    (String(lent: eglQueryString(glp_egl_no_display(), EGL_EXTENSIONS)) ?? "").split(separator: " "))
}

extension String {
  /// A copy of a string that C lends.
  @unsafe init?(lent text: UnsafePointer<CChar>?) {
    guard let text = unsafe text else { return nil }
    self = unsafe String(cString: text)
  }
}
