// Grants: permissions that end. An answer or a session that outlives the check of its request holds a grant, and ends when that is
// revoked.
internal import Hummingbird
internal import Synchronization

/// The grants of one kind of subject: the rights of clients (`ClientRight`), or views (`ViewRight`).
package final class Grants<Subject: Sendable>: Sendable {
  private struct Entry {
    var subject: Subject
    var onRevoked: @Sendable () -> Void
    /// Why it is revoked; nil while it is in use.
    var revocation: Problem?
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())
  private let check: @Sendable (Subject) throws(Problem) -> Void

  /// `check` throws if a subject is not granted now. It is called under a lock.
  package init(_ check: @escaping @Sendable (Subject) throws(Problem) -> Void) { self.check = check }

  /// The number of grants in use.
  var count: Int { state.withLock { $0.entries.values.count { $0.revocation == nil } } }

  /// Grants a subject until the grant is released. `onRevoked` is called once if the grant is revoked before.
  ///
  /// - Throws: the `Problem` of the check.
  package func grant(
    _ subject: Subject, onRevoked: @escaping @Sendable () -> Void = {}
  ) throws(Problem) -> Grant<Subject> {
    let id = try state.withLock { state throws(Problem) -> Int in
      try check(subject)
      state.lastID += 1
      state.entries[state.lastID] = Entry(subject: subject, onRevoked: onRevoked)
      return state.lastID
    }
    return Grant(subject, self, id)
  }

  /// Revokes the grants that the check refuses now.
  ///
  /// - Returns: their subjects.
  @discardableResult
  package func revokeLost() -> [Subject] {
    let lost = state.withLock { state in
      var lost: [Entry] = []
      for (id, entry) in state.entries where entry.revocation == nil {
        do throws(Problem) { try check(entry.subject) } catch {
          state.entries[id]?.revocation = error
          lost.append(entry)
        }
      }
      return lost
    }
    for entry in lost { entry.onRevoked() }
    return lost.map(\.subject)
  }

  fileprivate func revocation(of id: Int) -> Problem? { state.withLock { $0.entries[id]?.revocation } }

  fileprivate func isInUse(_ id: Int) -> Bool {
    state.withLock { state in state.entries[id].map { $0.revocation == nil } ?? false }
  }

  fileprivate func release(_ id: Int) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }

  fileprivate func set(_ onRevoked: @escaping @Sendable () -> Void, of id: Int) {
    let isRevoked = state.withLock { state in
      state.entries[id]?.onRevoked = onRevoked
      return state.entries[id].map { $0.revocation != nil } ?? false
    }
    if isRevoked { onRevoked() }
  }

  fileprivate func change(_ id: Int, to subject: Subject) throws(Problem) {
    try state.withLock { state throws(Problem) in
      if let revocation = state.entries[id]?.revocation { throw revocation }
      try check(subject)
      state.entries[id]?.subject = subject
    }
  }
}

/// The permission for one answer, stream or session, in use until it is released.
package final class Grant<Subject: Sendable>: Sendable {
  /// The subject as it was granted first.
  package let subject: Subject
  let grants: Grants<Subject>
  private let id: Int

  fileprivate init(_ subject: Subject, _ grants: Grants<Subject>, _ id: Int) {
    (self.subject, self.grants, self.id) = (subject, grants, id)
  }

  deinit { release() }

  package func release() { grants.release(id) }

  /// Whether it is still in use: neither revoked nor released.
  package var isValid: Bool { grants.isInUse(id) }

  /// - Throws: why it was revoked.
  package func check() throws(Problem) {
    if let revocation = grants.revocation(of: id) { throw revocation }
  }

  /// Calls `action` when the grant is revoked; at once if it is already.
  package func whenRevoked(_ action: @escaping @Sendable () -> Void) { grants.set(action, of: id) }

  /// Replaces the subject.
  ///
  /// - Throws: the `Problem` of the check; nothing is changed then.
  func change(to subject: Subject) throws(Problem) { try grants.change(id, to: subject) }
}
