// What OpenGL refused, as a Swift error that says what was being done.
internal import CGLES

/// A step on the GPU that failed.
struct GLError: Error, Equatable, CustomStringConvertible {
  enum Reason: Equatable {
    /// The first code that `glGetError` gave.
    case flag(GLenum)
    /// What `glCheckFramebufferStatus` said.
    case framebuffer(GLenum)
    /// Bytes that a caller gave and bytes that the region takes.
    case size(needed: Int, given: Int)
    /// A region that is not inside its texture, or rows that are shorter than it.
    case bounds(String)
    /// The GPU was not done after so long.
    case timeout(Duration)
    /// The memory budget had no room.
    case budget(MemoryBudgetExceeded)
  }

  /// What was being done, and with what: "a 640x360 rgba8 texture".
  let activity: String
  let reason: Reason

  init(_ activity: String, _ reason: Reason) {
    self.activity = activity
    self.reason = reason
  }

  /// What drivers flag for every call once the GPU was reset (GL_KHR_robustness).
  static let contextLost = GLError("drawing", .flag(GLenum(GL_CONTEXT_LOST)))

  /// Whether nothing will ever be drawn in this context again: it was lost, or the GPU hangs.
  var isContextLost: Bool {
    switch reason {
    case .flag(let code): code == GLenum(GL_CONTEXT_LOST)
    case .timeout: true
    case .framebuffer, .size, .bounds, .budget: false
    }
  }

  /// Whether it may go better once less memory is taken.
  var isOutOfMemory: Bool {
    switch reason {
    case .flag(let code): code == GLenum(GL_OUT_OF_MEMORY)
    case .budget: true
    case .framebuffer, .size, .bounds, .timeout: false
    }
  }

  var description: String {
    switch reason {
    case .flag(let code): "\(activity): \(Self.name(of: code))"
    case .framebuffer(let status): "\(activity): \(Self.name(ofStatus: status))"
    case .size(let needed, let given): "\(activity): \(given) bytes where \(needed) are needed"
    case .bounds(let text): "\(activity): \(text)"
    case .timeout(let limit): "\(activity): the GPU was not done after \(limit)"
    case .budget(let error): "\(activity): \(error)"
    }
  }

  /// Throws if OpenGL has flagged an error since the last check, and clears its flags.
  static func check(_ activity: @autoclosure () -> String) throws(GLError) {
    let code = glGetError()
    guard code != GLenum(GL_NO_ERROR) else { return }
    drain()
    throw GLError(activity(), .flag(code))
  }

  /// OpenGL may hold a flag for each of its parts; a lost context may flag for ever, hence the bound.
  private static func drain() {
    for _ in 0..<16 {
      if glGetError() == GLenum(GL_NO_ERROR) { return }
    }
  }

  /// The name of a code of `glGetError` in OpenGL's header.
  static func name(of code: GLenum) -> String {
    switch Int32(bitPattern: code) {
    case GL_NO_ERROR: "GL_NO_ERROR"
    case GL_INVALID_ENUM: "GL_INVALID_ENUM"
    case GL_INVALID_VALUE: "GL_INVALID_VALUE"
    case GL_INVALID_OPERATION: "GL_INVALID_OPERATION"
    case GL_INVALID_FRAMEBUFFER_OPERATION: "GL_INVALID_FRAMEBUFFER_OPERATION"
    case GL_OUT_OF_MEMORY: "GL_OUT_OF_MEMORY"
    case GL_STACK_OVERFLOW: "GL_STACK_OVERFLOW"
    case GL_STACK_UNDERFLOW: "GL_STACK_UNDERFLOW"
    case GL_CONTEXT_LOST: "GL_CONTEXT_LOST"
    default: "0x" + String(code, radix: 16)
    }
  }

  /// The name of a status of `glCheckFramebufferStatus`.
  static func name(ofStatus status: GLenum) -> String {
    switch Int32(bitPattern: status) {
    case GL_FRAMEBUFFER_COMPLETE: "GL_FRAMEBUFFER_COMPLETE"
    case GL_FRAMEBUFFER_UNDEFINED: "GL_FRAMEBUFFER_UNDEFINED"
    case GL_FRAMEBUFFER_INCOMPLETE_ATTACHMENT: "GL_FRAMEBUFFER_INCOMPLETE_ATTACHMENT"
    case GL_FRAMEBUFFER_INCOMPLETE_MISSING_ATTACHMENT: "GL_FRAMEBUFFER_INCOMPLETE_MISSING_ATTACHMENT"
    case GL_FRAMEBUFFER_INCOMPLETE_DIMENSIONS: "GL_FRAMEBUFFER_INCOMPLETE_DIMENSIONS"
    case GL_FRAMEBUFFER_INCOMPLETE_MULTISAMPLE: "GL_FRAMEBUFFER_INCOMPLETE_MULTISAMPLE"
    case GL_FRAMEBUFFER_INCOMPLETE_LAYER_TARGETS: "GL_FRAMEBUFFER_INCOMPLETE_LAYER_TARGETS"
    case GL_FRAMEBUFFER_UNSUPPORTED: "GL_FRAMEBUFFER_UNSUPPORTED"
    default: name(of: status)
    }
  }
}
