// Counts the living OpenGL objects by thread, because each belongs to one, and their memory against a budget:
// with a software GPU it is the process's own. Tests check that the count is zero when a renderer has ended.
internal import Glibc
internal import Synchronization

/// Counts living OpenGL objects by kind, for the process and for each creating thread. A lock and a
/// dictionary; their cost is negligible beside a driver call.
enum GLLedger {
  enum Kind: Sendable, CaseIterable {
    case context, texture, texelBuffer, framebuffer, pixelBuffer, fence, query, program
  }

  /// Living objects of the process; kinds without any are omitted.
  static var living: [Kind: Int] {
    counts.withLock { counts in counts.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) } }
  }

  /// Living objects that were created on the calling thread; empty once its context and everything in it has
  /// ended.
  static var livingOnThisThread: [Kind: Int] { counts.withLock { $0[ThreadIdentity.current] ?? [:] } }

  static func add(_ kind: Kind) { change(kind, by: 1) }
  static func remove(_ kind: Kind) { change(kind, by: -1) }

  private static let counts = Mutex<[Int: [Kind: Int]]>([:])

  /// Threads without objects have no entry, so that ended threads take no memory.
  private static func change(_ kind: Kind, by difference: Int) {
    let thread = ThreadIdentity.current
    counts.withLock { counts in
      var count = counts[thread] ?? [:]
      let new = (count[kind] ?? 0) + difference
      count[kind] = new == 0 ? nil : new
      counts[thread] = count.isEmpty ? nil : count
    }
  }
}

/// Unique numbers for the threads of the process.
///
/// Not `pthread_self`, which is declared as a constant: in a release build the optimiser keeps its value
/// across an `await` and so confuses threads (seen with Swift 6.3).
enum ThreadIdentity {
  static var current: Int {
    if let number = unsafe pthread_getspecific(key) { return Int(bitPattern: number) }
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
    return number
  }

  private static let count = Atomic<Int>(0)

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    unsafe pthread_key_create(&key, nil)
    return key
  }()
}

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
    do throws(MemoryBudget.Exceeded) {
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
    fileprivate(set) var shortage: MemoryBudget.Exceeded?

    func check(_ activity: @autoclosure () -> String) throws(GLError) {
      if let shortage { throw GLError(activity(), .budget(shortage)) }
    }
  }

  private static let budgets = Mutex<[Int: MemoryBudget]>([:])
}
