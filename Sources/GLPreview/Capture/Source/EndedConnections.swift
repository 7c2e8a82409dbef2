// How often a source's connection has ended: what came before the last end may be hidden by now, where another node decides that.
internal import Synchronization

/// The number of a source's connections that have ended. Whoever comes to watch later gets no picture of those.
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
