// Measures a range of commands with the GPU's clock.
internal import CGLES

/// Measures GPU time from creation until `end()` (GL_EXT_disjoint_timer_query). Only one can run at a time.
struct TimerQuery: ~Copyable {
  private let name: GLuint
  private var isCounting = true

  /// Whether the current context has a usable clock.
  static var isSupported: Bool {
    guard GLCapabilities().has("GL_EXT_disjoint_timer_query") else { return false }
    // A driver may have the extension but no clock.
    var bits: GLint = 0
    unsafe glGetQueryiv(GLenum(GL_TIME_ELAPSED_EXT), GLenum(GL_QUERY_COUNTER_BITS_EXT), &bits)
    guard bits > 0 else { return false }
    // Tried once, so that no drawing fails because of its measurement.
    var query = TimerQuery()
    query.end()
    return glGetError() == GLenum(GL_NO_ERROR)
  }

  /// Whether, since the last call, an event such as a change of clock rate made all measurements invalid.
  static func wasDisjoint() -> Bool { GLCapabilities.integer(GL_GPU_DISJOINT_EXT) != 0 }

  /// Errors of the driver are left to the next check of the drawing.
  init() {
    var name: GLuint = 0
    unsafe glGenQueries(1, &name)
    self.name = name
    GLLedger.add(.query)
    glBeginQuery(GLenum(GL_TIME_ELAPSED_EXT), name)
  }

  deinit {
    // A deleted query would keep running unless it is ended first.
    if isCounting { glEndQuery(GLenum(GL_TIME_ELAPSED_EXT)) }
    unsafe withUnsafePointer(to: name) { unsafe glDeleteQueries(1, $0) }
    GLLedger.remove(.query)
  }

  mutating func end() {
    guard isCounting else { return }
    isCounting = false
    glEndQuery(GLenum(GL_TIME_ELAPSED_EXT))
  }

  /// The measured time; nil if it is not available yet, which a fence after the end rules out, or exceeded
  /// 4.29 s. Never waits.
  var result: Duration? {
    guard !isCounting, value(GL_QUERY_RESULT_AVAILABLE) != 0 else { return nil }
    // GLES 3 itself returns 32 of the 64 bits, or the largest number if the time does not fit.
    let nanoseconds = value(GL_QUERY_RESULT)
    return nanoseconds == .max ? nil : .nanoseconds(Int(nanoseconds))
  }

  private func value(_ parameter: Int32) -> GLuint {
    var value: GLuint = 0
    unsafe glGetQueryObjectuiv(name, GLenum(parameter), &value)
    return value
  }
}

@available(*, unavailable) extension TimerQuery: Sendable {}
