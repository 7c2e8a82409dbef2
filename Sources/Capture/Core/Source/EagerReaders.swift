// Counts the readers that show every picture. Only for them is a replaced picture a dropped one.
internal import Synchronization

/// The number of a source's readers that show every picture. Without any, a replaced picture is not dropped: it was kept, passed
/// on as video, or left out by a frame rate.
package final class EagerReaders: Sendable {
  private let count = Atomic(0)

  package init() {}

  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  package func come() { count.wrappingAdd(1, ordering: .relaxed) }

  package func go() { count.wrappingSubtract(1, ordering: .relaxed) }
}

extension EagerReaders: Hashable {
  package static func == (a: EagerReaders, b: EagerReaders) -> Bool { a === b }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
