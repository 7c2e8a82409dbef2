// Permissions that can be revoked. An answer or a session that outlives the check of its request holds a
// grant, and ends when the grant is revoked.
internal import Hummingbird
internal import Synchronization

/// The grants of one kind of subject: the rights of clients (`ClientRight`), or views (`ViewRight`).
package final class Grants<Subject: Sendable>: Sendable {
  private struct Entry {
    var subject: Subject
    var onRevoked: @Sendable () -> Void
    /// The reason for its revocation; nil while it is in use.
    var revocation: Problem?
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())
  private let check: @Sendable (Subject) throws(Problem) -> Void

  /// `check` throws if a subject is not permitted now. It is called under a lock.
  package init(_ check: @escaping @Sendable (Subject) throws(Problem) -> Void) { self.check = check }

  /// The number of grants in use.
  var count: Int { state.withLock { $0.entries.values.count { $0.revocation == nil } } }

  /// Grants a subject until the grant is released. `onRevoked` is called once if the grant is revoked before
  /// that.
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

  /// Revokes the grants whose subjects the check now refuses.
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

/// The permission for one answer, stream or session. It is in use until it is released.
package final class Grant<Subject: Sendable>: Sendable {
  /// The subject as originally granted; `change(to:)` does not update it.
  package let subject: Subject
  let grants: Grants<Subject>
  private let id: Int

  fileprivate init(_ subject: Subject, _ grants: Grants<Subject>, _ id: Int) {
    (self.subject, self.grants, self.id) = (subject, grants, id)
  }

  deinit { release() }

  package func release() { grants.release(id) }

  /// Whether the grant is in use: neither revoked nor released.
  package var isValid: Bool { grants.isInUse(id) }

  /// - Throws: the reason for its revocation.
  package func check() throws(Problem) {
    if let revocation = grants.revocation(of: id) { throw revocation }
  }

  /// Calls `action` when the grant is revoked; at once if it already is. Replaces the earlier action.
  package func whenRevoked(_ action: @escaping @Sendable () -> Void) { grants.set(action, of: id) }

  /// Replaces the subject.
  ///
  /// - Throws: the `Problem` of the check, or of a revocation; nothing is changed then.
  func change(to subject: Subject) throws(Problem) { try grants.change(id, to: subject) }
}
