// The reset of a GPU, which takes time, and to which its contexts are lost.
internal import CGLES

/// Tells whether a lost context's GPU is still being reset.
struct GLReset: Sendable {
  private let limit: Duration
  let isUnderWay: @Sendable () -> Bool

  /// `limit` is how long a reset is waited for, at most; drivers give up after a second or two.
  init(limit: Duration = .seconds(5), isUnderWay: @escaping @Sendable () -> Bool) {
    (self.limit, self.isUnderWay) = (limit, isUnderWay)
  }

  /// Asks the driver of the current context, on its thread. A lost context's status differs from `GL_NO_ERROR` until the reset is
  /// over (KHR_robustness). It is always `GL_NO_ERROR` in a context that does not report resets.
  static func ofCurrentContext() -> GLReset {
    // Found now: a lost context need not tell its version.
    let capabilities = GLCapabilities()
    let suffix =
      capabilities.version >= GLVersion(3, 2)
      ? "" : ["KHR", "EXT"].first { capabilities.has("GL_\($0)_robustness") }
    guard let suffix else { return GLReset { false } }
    return GLReset { unsafe glp_gl_reset_status("glGetGraphicsResetStatus\(suffix)") != GLenum(GL_NO_ERROR) }
  }

  /// Returns when the reset is over, or has taken longer than the limit: a context that is made earlier is lost too.
  func wait(isolation: isolated (any Actor)? = #isolation) async {
    let end = ContinuousClock.now + limit
    while isUnderWay(), ContinuousClock.now < end {
      try? await pause(.milliseconds(10))
    }
  }
}
