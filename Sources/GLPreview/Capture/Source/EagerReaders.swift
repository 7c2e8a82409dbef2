// Who would have shown a picture that a newer one has replaced.
internal import Synchronization

/// Counts the readers of a source that show each picture as it comes. Without any, no picture is dropped: what is kept,
/// passed on as video, or read less often on purpose is not missed.
final class EagerReaders: Sendable {
  private let count = Atomic(0)

  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  func come() { count.wrappingAdd(1, ordering: .relaxed) }

  func go() { count.wrappingSubtract(1, ordering: .relaxed) }
}

extension EagerReaders: Hashable {
  static func == (a: EagerReaders, b: EagerReaders) -> Bool { a === b }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
