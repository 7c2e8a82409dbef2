// Counts the connections of a source that have ended. Since then, another node may have masked what their
// pictures show.
internal import Synchronization

/// The number of a source's ended connections. New viewers get no pictures from these.
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
