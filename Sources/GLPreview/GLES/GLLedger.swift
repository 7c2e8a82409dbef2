// A count of what lives in OpenGL: zero when a renderer has ended, or a test fails.
internal import Synchronization

/// Counts living objects of OpenGL by kind, for the process and for each thread that made them.
///
/// A lock and a dictionary: nothing beside a call of the driver.
enum GLLedger {
  enum Kind: Sendable, CaseIterable {
    case context, texture, texelBuffer, framebuffer, pixelBuffer, fence, query, program
  }

  /// What lives in the process; kinds of which there are none are left out.
  static var living: [Kind: Int] {
    counts.withLock { counts in counts.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) } }
  }

  /// What was made on the calling thread and lives; empty once its context and all in it have ended.
  static var livingOnThisThread: [Kind: Int] { counts.withLock { $0[ThreadIdentity.current] ?? [:] } }

  static func add(_ kind: Kind) { change(kind, by: 1) }
  static func remove(_ kind: Kind) { change(kind, by: -1) }

  private static let counts = Mutex<[Int: [Kind: Int]]>([:])

  /// A thread without objects has no entry, so that threads that have ended take no room.
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
