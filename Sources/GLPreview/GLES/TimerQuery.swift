// What the GPU's own clock says of a stretch of commands.
internal import CGLES

/// Counts the GPU's time from its making until `end()` (GL_EXT_disjoint_timer_query). One counts at a time.
///
/// Lives and ends on the thread whose context is current; not `Sendable`, so the compiler keeps it there.
struct TimerQuery: ~Copyable {
  private let name: GLuint
  private var isCounting = true

  /// Whether the current context has a clock.
  static var isSupported: Bool {
    guard GLCapabilities().has("GL_EXT_disjoint_timer_query") else { return false }
    // A driver may have the extension and no clock.
    var bits: GLint = 0
    unsafe glGetQueryiv(GLenum(GL_TIME_ELAPSED_EXT), GLenum(GL_QUERY_COUNTER_BITS_EXT), &bits)
    return bits > 0
  }

  /// Whether something has happened since it was last asked that makes all times so far worthless, such as another clock
  /// rate.
  static func wasDisjoint() -> Bool {
    var value: GLint = 0
    unsafe glGetIntegerv(GLenum(GL_GPU_DISJOINT_EXT), &value)
    return value != 0
  }

  /// Counts from here on.
  init() throws(GLError) {
    var name: GLuint = 0
    unsafe glGenQueries(1, &name)
    self.name = name
    GLLedger.add(.query)
    glBeginQuery(GLenum(GL_TIME_ELAPSED_EXT), name)
    try GLError.check("a timer query")
  }

  deinit {
    // A query that is ended while it counts would go on, without a name.
    if isCounting { glEndQuery(GLenum(GL_TIME_ELAPSED_EXT)) }
    unsafe withUnsafePointer(to: name) { unsafe glDeleteQueries(1, $0) }
    GLLedger.remove(.query)
  }

  /// Counts no further.
  mutating func end() {
    guard isCounting else { return }
    isCounting = false
    glEndQuery(GLenum(GL_TIME_ELAPSED_EXT))
  }

  /// What it came to; nil where that is not known yet, which a fence after the end rules out, or was more than 4.29 s.
  /// Never waits.
  var result: Duration? {
    guard !isCounting, value(GL_QUERY_RESULT_AVAILABLE) != 0 else { return nil }
    // Of 64 bits, GLES 3 itself gives as many as fit here, or the largest number.
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
