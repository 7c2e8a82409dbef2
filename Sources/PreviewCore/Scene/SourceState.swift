// The states of a source. Cameras, events, metrics and HTTP headers use this one list.

/// Whether a source gives pictures, and if not, why.
public enum SourceState: String, Sendable, Hashable, CaseIterable, Codable {
  /// Closed: nothing reads it, or it has reached its end.
  case idle
  /// Switched off by the program.
  case off
  /// Being opened or reopened; there is no picture yet.
  case opening
  /// Pictures arrive.
  case live
  /// Open, but no picture has arrived for a while.
  case stalled
  /// Disconnected, or it can't be opened; live sources are tried again.
  case lost
}

/// A source that gives no pictures: its state, why, and since when.
package struct Outage: Sendable, Hashable {
  package var state: SourceState
  /// Why, in a few words, such as `no such device`; empty where the state says all.
  package var reason: String
  /// In seconds since 1970.
  package var since: Double

  package init(_ state: SourceState, reason: String = "", since: Double) {
    self.state = state
    self.reason = reason
    self.since = since
  }
}
