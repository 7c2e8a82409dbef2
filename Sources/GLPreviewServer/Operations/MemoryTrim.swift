// Memory goes back to the system after a peak: glibc keeps what threads have freed, for as long as the process lives.
internal import CMemory
internal import ServiceLifecycle

/// The heap of this process.
package enum ProcessHeap {
  /// Has all threads of this process share one heap: pictures' memory is used again instead of being mapped anew for each, and
  /// can go back to the system as a whole. For a command's own process, not for a library's user; to be called before there is
  /// another thread.
  package static func useOne() { glp_memory_use_one_arena() }
}

/// Gives idle memory back: a few seconds after it was freed, and at once where the process has more than its budget.
struct MemoryTrim: Service {
  /// Bytes: a process that has more than this resident, code and all, gives idle memory back at once.
  let budget: Int
  /// So much may stay, for what comes next.
  static let kept = 32 << 20
  private static let interval = Duration.milliseconds(250)
  /// Looks after which memory was idle for long: what is freed and taken again with each picture is not given away between.
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
