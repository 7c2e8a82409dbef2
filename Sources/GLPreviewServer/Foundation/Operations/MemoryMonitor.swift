// Keeps the process within its memory budget: returns idle memory to the system after a peak, because glibc
// keeps freed memory for the life of the process, and accounts for the memory outside of pictures.
internal import CMemory
internal import FoundationEssentials
internal import ServiceLifecycle
internal import Synchronization

/// The heap and the constants of this process.
package enum ProcessHeap {
  /// Whether this is a process of the `glpreview` command, not of a program that uses the library.
  fileprivate static let isOurs = Atomic(false)

  /// Makes all threads share one heap, so that the memory of pictures is reused instead of mapped again for
  /// each picture, and can be returned to the system. Only for a command's own process, not for users of the
  /// library. Must be called before another thread starts.
  package static func useOne() {
    glp_memory_use_one_arena()
    isOurs.store(true, ordering: .relaxed)
  }

  /// Makes the program's constants read-only, so that an error or an attack can't change them.
  package static func protectConstants() { glp_memory_protect_constants() }
}

/// Returns idle memory to the system: a few seconds after it was freed, or at once if the process exceeds its
/// budget. Also reserves the memory of the program itself.
package struct MemoryMonitor: Service {
  package let budget: MemoryBudget

  package init(budget: MemoryBudget) {
    self.budget = budget
  }
  /// The idle memory to keep for reuse, in bytes. Getting 8 MB from the system again costs 2 ms.
  static let kept = 8 << 20
  /// The memory of the program and its driver that does not count. With thread stacks and idle memory, the
  /// process stays within 100 MB of its budget.
  static let uncounted = 64 << 20
  /// The part of a budget that is reserved for pictures.
  static let unshared = 256 << 20
  private static let interval = Duration.milliseconds(250)
  /// The interval while no picture is held and nothing is to be returned.
  private static let restInterval = Duration.seconds(2)
  /// The number of checks after which memory counts as idle. Memory that is freed and reused with each
  /// picture must not be returned in between.
  private static let idleChecks = 12

  package func run() async throws { await cancelWhenGracefulShutdown { await check() } }

  /// Returns the bytes of this process's heap, and of its memory shared with drivers, that no lease accounts
  /// for at the moment. Unlike a budget's `overhead`, it is neither limited nor smoothed.
  package static func uncounted(by budget: MemoryBudget) -> Int {
    max(Int(glp_memory_measure().used) + (ProcessMetrics.sharedBytes ?? 0) - budget.reserved, 0)
  }

  private func check() async {
    var checks = 0
    var filePages = FilePages()
    while !Task.isCancelled {
      let isAtRest = checks == 0 && filePages.isSettled && budget.reserved == 0
      await CaptureClock.sleep(untilMultipleOf: isAtRest ? Self.restInterval : Self.interval)
      let heap = glp_memory_measure()
      if ProcessHeap.isOurs.load(ordering: .relaxed), heap.used > 0 {
        let used = Int(heap.used) + (ProcessMetrics.sharedBytes ?? 0)
        budget.overhead = Self.overhead(
          used: used, reserved: budget.reserved, of: budget.capacity, before: budget.overhead)
      }
      if ProcessHeap.isOurs.load(ordering: .relaxed),
        filePages.shouldDrop(resident: ProcessMetrics.sharedBytes ?? 0, after: Self.idleChecks)
      {
        glp_memory_drop_file_pages()
      }
      checks = heap.idle > Self.kept ? checks + 1 : 0
      guard checks > Self.idleChecks || (checks > 0 && (ProcessMetrics.residentBytes ?? 0) > budget.capacity)
      else {
        continue
      }
      glp_memory_trim()
      checks = 0
    }
  }

  /// Returns the part of the budget that the program itself takes: at most a third of what exceeds 256 MB. A
  /// smaller budget is used up by the pictures of one large camera.
  ///
  /// Memory is reserved before it is allocated, so that a single measurement may be too low. Therefore the
  /// highest value counts; it halves within nine seconds.
  static func overhead(used: Int, reserved: Int, of capacity: Int, before: Int) -> Int {
    min(max(used - reserved - uncounted, before - before / 50, 0), max(capacity - unshared, 0) / 3)
  }
}

/// Decides when to unmap code and constants. Most of those that are resident were needed once, mostly at the
/// start; what is in use is soon mapped again.
struct FilePages {
  /// The bytes above those in use for which unmapping pays.
  static let kept = 8 << 20
  /// The resident bytes that are in use; nil shortly after a drop.
  private var inUse: Int? = 0
  private var checks = 0

  /// Whether nothing is to be unmapped, and nothing has been lately.
  var isSettled: Bool { inUse ?? 0 > 0 && checks == 0 }

  /// Returns whether to unmap now. Called regularly, with the `resident` bytes of files.
  mutating func shouldDrop(resident: Int, after idleChecks: Int) -> Bool {
    guard let inUse else {
      checks += 1
      if checks > idleChecks { (self.inUse, checks) = (resident, 0) }
      return false
    }
    checks = resident > inUse + Self.kept ? checks + 1 : 0
    guard checks > idleChecks else { return false }
    (self.inUse, checks) = (nil, 0)
    return true
  }
}
