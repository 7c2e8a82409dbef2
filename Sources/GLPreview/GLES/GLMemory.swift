// Counts the memory of OpenGL objects against a budget: with a software GPU it is the process's own memory.
internal import Synchronization

/// The memory budgets of drawing threads.
enum GLMemory {
  /// Objects created on the calling thread during `body` count against `budget` as long as they live.
  static func counted<Result>(against budget: MemoryBudget?, _ body: () throws -> Result) rethrows -> Result {
    guard let budget else { return try body() }
    let thread = ThreadIdentity.current
    budgets.withLock { $0[thread] = budget }
    defer { budgets.withLock { $0[thread] = nil } }
    return try body()
  }

  /// Reserves memory for a new object: the product of `sides`, or none if the driver will refuse them.
  static func reserve(_ sides: Int...) -> Reservation {
    let byteCount = sides.reduce(1) { count, side in
      let (product, overflow) = count.multipliedReportingOverflow(by: max(side, 0))
      return overflow ? .max : product
    }
    guard let budget = budgets.withLock({ $0[ThreadIdentity.current] }) else { return Reservation() }
    do throws(MemoryBudgetExceeded) {
      return Reservation(lease: try budget.reserve(byteCount))
    } catch {
      return Reservation(shortage: error)
    }
  }

  /// The result of a reservation. It does not throw at once, because an object with a `deinit` must be fully
  /// initialised before it can fail.
  struct Reservation {
    /// Held as long as the object lives; nil if nothing is counted.
    var lease: MemoryLease?
    fileprivate(set) var shortage: MemoryBudgetExceeded?

    func check(_ activity: @autoclosure () -> String) throws(GLError) {
      if let shortage { throw GLError(activity(), .budget(shortage)) }
    }
  }

  private static let budgets = Mutex<[Int: MemoryBudget]>([:])
}
