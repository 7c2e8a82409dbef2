// Keeps the process within its memory budget: returns idle memory to the system after a peak, because glibc keeps freed
// memory for the life of the process, and counts the memory that no picture accounts for.
internal import CMemory
internal import FoundationEssentials
internal import ServiceLifecycle
internal import Synchronization

/// The heap of this process.
package enum ProcessHeap {
  /// Whether the process has no other purpose than the service.
  fileprivate static let isOurs = Atomic(false)

  /// Makes all threads share one heap, so that pictures' memory is reused instead of mapped anew for each, and can be
  /// returned to the system. Only for a command's own process, not for users of the library. Must be called before
  /// there is another thread.
  package static func useOne() {
    glp_memory_use_one_arena()
    isOurs.store(true, ordering: .relaxed)
  }
}

/// Returns idle memory, a few seconds after it was freed, or at once if the process exceeds its budget; and reserves the
/// memory of the program itself.
package struct MemoryMonitor: Service {
  package let budget: MemoryBudget

  package init(budget: MemoryBudget) {
    self.budget = budget
  }
  /// Idle memory that may be kept for reuse. To take 8 MB from the system anew costs 2 ms.
  static let kept = 8 << 20
  /// The memory of the program and its driver that is not counted. With thread stacks and idle memory, the process
  /// stays within 100 MB of its budget.
  static let uncounted = 64 << 20
  /// The part of a budget that is for pictures alone.
  static let unshared = 256 << 20
  private static let interval = Duration.milliseconds(250)
  /// The number of checks after which memory counts as idle. Memory that is freed and reused with each picture must
  /// not be returned in between.
  private static let patience = 12

  package func run() async throws { await cancelWhenGracefulShutdown { await look() } }

  /// The bytes of this process's heap, and of its memory that is shared with drivers, that no lease accounts for at the moment.
  /// Unlike a budget's `overhead`, all of them, and now.
  package static func uncounted(by budget: MemoryBudget) -> Int {
    max(Int(glp_memory_measure().used) + (ProcessMetrics.sharedBytes ?? 0) - budget.reserved, 0)
  }

  private func look() async {
    var looks = 0
    while !Task.isCancelled {
      await CaptureClock.sleep(untilMultipleOf: Self.interval)
      let heap = glp_memory_measure()
      if ProcessHeap.isOurs.load(ordering: .relaxed), heap.used > 0 {
        let used = Int(heap.used) + (ProcessMetrics.sharedBytes ?? 0)
        budget.overhead = Self.overhead(
          used: used, reserved: budget.reserved, of: budget.capacity, before: budget.overhead)
      }
      looks = heap.idle > Self.kept ? looks + 1 : 0
      guard looks > Self.patience || (looks > 0 && (ProcessMetrics.residentBytes ?? 0) > budget.capacity)
      else {
        continue
      }
      glp_memory_trim()
      looks = 0
    }
  }

  /// The part of the budget that the program itself takes: at most a third of what exceeds 256 MB. A smaller budget is
  /// used up by the pictures of one large camera.
  ///
  /// A reservation comes before its memory, so that one look may see too little: the largest value counts, and halves
  /// in nine seconds.
  static func overhead(used: Int, reserved: Int, of capacity: Int, before: Int) -> Int {
    min(max(used - reserved - uncounted, before - before / 50, 0), max(capacity - unshared, 0) / 3)
  }
}
