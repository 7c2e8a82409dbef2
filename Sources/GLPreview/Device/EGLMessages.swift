// Driver messages beyond EGL's error codes: "No EGL drivers found.", "DRI2: failed to load driver".
internal import CEGL
internal import Synchronization

/// Listens to EGL_KHR_debug, which has one callback per process, while a display is opened.
enum EGLMessages {
  private static let heard = Mutex<[String]>([])

  /// Adds EGL's first message during `body` to its error, then restores the previous callback.
  static func collected<Result>(
    _ body: () throws(EGLError) -> Result
  ) throws(EGLError) -> Result {
    guard EGLClient.has("EGL_KHR_debug") else { return try body() }
    heard.withLock { $0 = [] }
    let callbackBefore = unsafe glp_egl_debug_callback()
    listen()
    defer { unsafe glp_egl_set_debug_callback(callbackBefore) }
    do throws(EGLError) { return try body() } catch {
      throw error.saying(heard.withLock { $0.first })
    }
  }

  /// Separate from `collected`, because a C function can't be created inside a generic function.
  private static func listen() {
    unsafe glp_egl_set_debug_callback { _, _, _, _, _, message in
      guard let text = unsafe String(lent: message) else { return }
      EGLMessages.heard.withLock { $0.append(text) }
    }
  }
}
