// What the memory of OpenGL's objects counts against: where the GPU is software, it is the process's own.
internal import Synchronization

/// The budgets of threads that draw.
enum GLMemory {
  /// What is made on the calling thread while `body` runs counts against `budget` for as long as it lives.
  static func counted<Result>(against budget: MemoryBudget?, _ body: () throws -> Result) rethrows -> Result {
    guard let budget else { return try body() }
    let thread = ThreadIdentity.current
    budgets.withLock { $0[thread] = budget }
    defer { budgets.withLock { $0[thread] = nil } }
    return try body()
  }

  /// The memory of an object that is about to be made: the product of `sides`, or none where the driver will refuse them.
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

  /// What came of it. Not thrown at once: an object that has a `deinit` must be there as a whole before it can fail.
  struct Reservation {
    /// To be held for as long as the object lives; nil where it counts against nothing.
    var lease: MemoryLease?
    fileprivate(set) var shortage: MemoryBudgetExceeded?

    /// Throws where there was no room.
    func check(_ activity: @autoclosure () -> String) throws(GLError) {
      if let shortage { throw GLError(activity(), .budget(shortage)) }
    }
  }

  private static let budgets = Mutex<[Int: MemoryBudget]>([:])
}
