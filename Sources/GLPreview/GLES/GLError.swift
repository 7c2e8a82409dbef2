// OpenGL's errors as a Swift error that names the failed operation.
internal import CGLES

struct GLError: Error, Equatable, CustomStringConvertible {
  enum Reason: Equatable {
    /// The first code of `glGetError`.
    case flag(GLenum)
    /// The status of `glCheckFramebufferStatus`.
    case framebuffer(GLenum)
    case size(needed: Int, given: Int)
    /// A region outside its texture, or rows shorter than the region.
    case bounds(String)
    /// The GPU did not finish in this time.
    case timeout(Duration)
    case budget(MemoryBudget.Exceeded)
  }

  /// The operation and its object: "a 640x360 rgba8 texture".
  let activity: String
  let reason: Reason

  init(_ activity: String, _ reason: Reason) {
    self.activity = activity
    self.reason = reason
  }

  /// The code that drivers set for every call after a GPU reset (GL_KHR_robustness).
  static let contextLost = GLError("drawing", .flag(GLenum(GL_CONTEXT_LOST)))

  /// Whether the context is permanently unusable: it was lost, or the GPU hangs.
  var isContextLost: Bool {
    switch reason {
    case .flag(let code): code == GLenum(GL_CONTEXT_LOST)
    case .timeout: true
    case .framebuffer, .size, .bounds, .budget: false
    }
  }

  /// Whether a retry with less memory may succeed.
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

  /// Throws if OpenGL has set an error since the last check, and clears its flags.
  static func check(_ activity: @autoclosure () -> String) throws(GLError) {
    let code = glGetError()
    guard code != GLenum(GL_NO_ERROR) else { return }
    drain()
    throw GLError(activity(), .flag(code))
  }

  /// OpenGL may have one flag per part. A lost context may set flags forever, hence the bound.
  private static func drain() {
    for _ in 0..<16 {
      if glGetError() == GLenum(GL_NO_ERROR) { return }
    }
  }

  static func name(of code: GLenum) -> String {
    switch Int32(bitPattern: code) {
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

  static func name(ofStatus status: GLenum) -> String {
    switch Int32(bitPattern: status) {
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
