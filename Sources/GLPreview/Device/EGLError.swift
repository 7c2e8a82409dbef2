// Errors of EGL and of opening DRM files, by name.
internal import CEGL

/// A failed step on the way to a context.
struct EGLError: Error, Equatable, CustomStringConvertible {
  enum Reason: Equatable {
    /// The code of `eglGetError`.
    case code(EGLint)
    case system(CInt)
    case missing(String)
  }

  /// The failed function and its argument.
  let activity: String
  let reason: Reason
  /// The driver's message; empty if it gave none.
  let message: String

  init(_ activity: String, _ reason: Reason, message: String = "") {
    self.activity = activity
    self.reason = reason
    self.message = message
  }

  /// Returns the last error of this thread, and clears it.
  static func last(_ activity: String) -> EGLError { EGLError(activity, .code(eglGetError())) }

  func with(message: String?) -> EGLError { EGLError(activity, reason, message: message ?? "") }

  var description: String {
    // Some drivers only repeat the name of the call.
    message.isEmpty || activity.contains(message) ? cause : "\(cause) (\(message))"
  }

  private var cause: String {
    switch reason {
    // Some drivers fail without saying why.
    case .code(EGL_SUCCESS): "\(activity) failed without a reason"
    case .code(let code): "\(activity): \(Self.name(of: code))"
    case .system(let code): "\(activity): \(String(errno: code))"
    case .missing(let name): "\(activity): \(name) is not supported"
    }
  }

  static func name(of code: EGLint) -> String {
    switch code {
    case EGL_NOT_INITIALIZED: "EGL_NOT_INITIALIZED"
    case EGL_BAD_ACCESS: "EGL_BAD_ACCESS"
    case EGL_BAD_ALLOC: "EGL_BAD_ALLOC"
    case EGL_BAD_ATTRIBUTE: "EGL_BAD_ATTRIBUTE"
    case EGL_BAD_CONFIG: "EGL_BAD_CONFIG"
    case EGL_BAD_CONTEXT: "EGL_BAD_CONTEXT"
    case EGL_BAD_CURRENT_SURFACE: "EGL_BAD_CURRENT_SURFACE"
    case EGL_BAD_DISPLAY: "EGL_BAD_DISPLAY"
    case EGL_BAD_MATCH: "EGL_BAD_MATCH"
    case EGL_BAD_NATIVE_PIXMAP: "EGL_BAD_NATIVE_PIXMAP"
    case EGL_BAD_NATIVE_WINDOW: "EGL_BAD_NATIVE_WINDOW"
    case EGL_BAD_PARAMETER: "EGL_BAD_PARAMETER"
    case EGL_BAD_SURFACE: "EGL_BAD_SURFACE"
    case EGL_CONTEXT_LOST: "EGL_CONTEXT_LOST"
    case EGL_BAD_DEVICE_EXT: "EGL_BAD_DEVICE_EXT"
    default: "0x" + String(code, radix: 16)
    }
  }
}
