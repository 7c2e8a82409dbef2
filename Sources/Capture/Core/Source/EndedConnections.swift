// Counts the connections of a source that have ended. Another node may have hidden since then what they showed.
internal import Synchronization

/// The number of a source's connections that have ended. New watchers get no pictures of these.
package final class EndedConnections: Sendable {
  private let ended = Atomic(0)

  package init() {}

  package var count: Int { ended.load(ordering: .sequentiallyConsistent) }

  package func add() { ended.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}

extension EndedConnections: Hashable {
  package static func == (a: EndedConnections, b: EndedConnections) -> Bool { a === b }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
