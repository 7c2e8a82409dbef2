// Counts the readers that need every picture. Replaced pictures count as dropped only while there are such
// readers.
internal import Synchronization

/// The number of a source's readers that need every picture. Without any, a replaced picture does not count
/// as dropped: it was buffered, passed through as video, or skipped to limit the frame rate.
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
