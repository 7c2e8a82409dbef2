// The sources of a session that have something to report, so that watchers need not ask all of them again and again.

/// The state of a source at one moment.
package struct SourceObservation: Sendable {
  /// Nil if it is not open, or not live.
  package let status: SourceStatus?
  /// The last error of opening or reading.
  package let failure: (any Error)?
  /// Whether it is open, or being opened or read.
  package let isActive: Bool
}

/// The sources that have begun or ended to work since their names were taken.
package final class SourceActivity: Sendable {
  private let names = Watched<Set<String>>([])

  package init() {}

  /// Adds the names of sources whose state has changed.
  package func note(_ changed: some Sequence<String> & Sendable) {
    let isNew = names.withLock { names in
      let before = names.count
      names.formUnion(changed)
      return names.count > before
    }
    // Everything that waits is woken, so it happens once for each name that is taken.
    if isNew { names.update { _ in } }
  }

  /// Returns the names of the sources that have changed since the last call, and forgets them.
  package func take() -> Set<String> {
    names.withLock { names in
      defer { names = [] }
      return names
    }
  }

  /// Forgets a source that was removed: a session without watchers would keep the names of all that it ever had.
  func forget(_ name: String) { names.withLock { _ = $0.remove(name) } }

  /// Waits until a source has changed.
  ///
  /// - Throws: `CancellationError`.
  package func wait() async throws { _ = try await names.first { $0.isEmpty ? nil : true } }
}
