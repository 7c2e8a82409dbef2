// A count of what lives in OpenGL: zero when a renderer has ended, or a test fails.
internal import Glibc
internal import Synchronization

/// Counts living objects of OpenGL by kind, for the process and for each thread that made them.
///
/// A lock and a dictionary: nothing beside a call of the driver.
enum GLLedger {
  enum Kind: Sendable, CaseIterable { case context, texture, framebuffer, pixelBuffer, fence, program }

  /// What lives in the process; kinds of which there are none are left out.
  static var living: [Kind: Int] {
    counts.withLock { counts in counts.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) } }
  }

  /// What was made on the calling thread and lives; empty once its context and all in it have ended.
  static var livingOnThisThread: [Kind: Int] { counts.withLock { $0[pthread_self()] ?? [:] } }

  static func add(_ kind: Kind) { change(kind, by: 1) }
  static func remove(_ kind: Kind) { change(kind, by: -1) }

  private static let counts = Mutex<[pthread_t: [Kind: Int]]>([:])

  /// A thread without objects has no entry: its identity may be used again.
  private static func change(_ kind: Kind, by difference: Int) {
    let thread = pthread_self()
    counts.withLock { counts in
      var count = counts[thread] ?? [:]
      let new = (count[kind] ?? 0) + difference
      count[kind] = new == 0 ? nil : new
      counts[thread] = count.isEmpty ? nil : count
    }
  }
}
