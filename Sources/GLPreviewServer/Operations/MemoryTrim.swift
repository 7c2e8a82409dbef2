// Returns memory to the system after a peak, because glibc keeps freed memory for the life of the process.
internal import CMemory
internal import ServiceLifecycle

/// The heap of this process.
package enum ProcessHeap {
  /// Makes all threads share one heap, so that pictures' memory is reused instead of mapped anew for each, and can be
  /// returned to the system. Only for a command's own process, not for users of the library. Must be called before
  /// there is another thread.
  package static func useOne() { glp_memory_use_one_arena() }
}

/// Returns idle memory: a few seconds after it was freed, or at once if the process exceeds its budget.
struct MemoryTrim: Service {
  /// If the resident memory, including code, exceeds this many bytes, idle memory is returned at once.
  let budget: Int
  /// Idle memory that may be kept for reuse.
  static let kept = 32 << 20
  private static let interval = Duration.milliseconds(250)
  /// The number of checks after which memory counts as idle. Memory that is freed and reused with each picture must
  /// not be returned in between.
  private static let patience = 12

  func run() async throws {
    var looks = 0
    while !Task.isShuttingDownGracefully, !Task.isCancelled {
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
      looks = glp_memory_idle() > Self.kept ? looks + 1 : 0
      guard looks > Self.patience || (looks > 0 && (ProcessMetrics.residentBytes ?? 0) > budget) else {
        continue
      }
      glp_memory_trim()
      looks = 0
    }
  }
}
