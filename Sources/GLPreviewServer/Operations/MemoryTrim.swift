// Memory goes back to the system after a peak: glibc keeps what threads have freed, for as long as the process lives.
internal import CMemory
internal import ServiceLifecycle

/// Gives idle memory back, a few seconds after it was freed.
struct MemoryTrim: Service {
  /// So much may stay, for what comes next.
  static let kept = 32 << 20
  private static let interval = Duration.seconds(3)
  /// Less than a picture of a camera, and more than what a request is made of.
  private static let largeBlock: Int32 = 2 << 20

  func run() async throws {
    glp_memory_bound(Self.largeBlock)
    var idleBefore = 0
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
      let idle = glp_memory_idle()
      // What was idle at the last look too: a picture's memory that is freed and taken again is not given away between.
      guard min(idle, idleBefore) > Self.kept else {
        idleBefore = idle
        continue
      }
      glp_memory_trim()
      idleBefore = 0
    }
  }
}
