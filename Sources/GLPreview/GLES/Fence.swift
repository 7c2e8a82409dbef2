// Reports when the GPU has finished its commands.
internal import CGLES

/// A point in the command stream.
@safe struct Fence: ~Copyable {
  enum State: Sendable, Equatable { case done, pending }

  private let sync: GLsync

  /// Inserts a fence after all commands so far, and flushes them.
  init() throws(GLError) {
    guard let sync = unsafe glFenceSync(GLenum(GL_SYNC_GPU_COMMANDS_COMPLETE), 0) else {
      try GLError.check("a fence")
      throw GLError("a fence", .flag(GLenum(GL_OUT_OF_MEMORY)))
    }
    unsafe self.sync = sync
    glFlush()
    GLLedger.add(.fence)
  }

  deinit {
    unsafe glDeleteSync(sync)
    GLLedger.remove(.fence)
  }

  /// Waits at most `timeout` for the GPU to pass the fence; zero only polls.
  borrowing func wait(atMost timeout: Duration) throws(GLError) -> State {
    let (seconds, attoseconds) = timeout.components
    let nanoseconds = UInt64(max(0, seconds)) &* 1_000_000_000 &+ UInt64(max(0, attoseconds) / 1_000_000_000)
    switch unsafe glClientWaitSync(sync, GLbitfield(GL_SYNC_FLUSH_COMMANDS_BIT), nanoseconds) {
    case GLenum(GL_ALREADY_SIGNALED), GLenum(GL_CONDITION_SATISFIED): return .done
    case GLenum(GL_TIMEOUT_EXPIRED): return .pending
    default:
      try GLError.check("waiting for a fence")
      throw GLError("waiting for a fence", .flag(GLenum(GL_CONTEXT_LOST)))
    }
  }
}

@available(*, unavailable) extension Fence: Sendable {}
