// How a live source is, for who watches it.

/// Where a live source stands.
public enum SourceState: String, Sendable, Hashable, CaseIterable, Codable {
  /// Not one picture yet, and nothing has gone wrong.
  case opening
  /// Pictures come.
  case live
  /// Connected, but no picture for a while.
  case stalled
  /// Not connected; it is tried again, unless that was given up.
  case lost
  /// Over: closed, or at its end.
  case closed
}

/// What a live source has counted since it was made.
public struct SourceCounters: Sendable, Hashable, Codable {
  /// Pictures that arrived, damaged ones among them.
  public var received = 0
  /// Pictures that arrived, but were given to nobody: a newer one came before they were asked for.
  public var dropped = 0
  /// Pictures that were made and never reached us, where the source tells.
  public var missed = 0
  /// Pictures that arrived broken.
  public var damaged = 0
  /// Connections beyond the first.
  public var reconnections = 0

  /// Nothing yet.
  public init() {}
}

/// How a live source is.
public struct SourceStatus: Sendable, Hashable {
  /// Where it stands.
  public var state: SourceState
  /// Since when, by `CaptureClock`.
  public var since: Duration
  /// Why it is stalled or lost, in one line.
  public var reason: String?
  /// What was wrong with the last damaged picture, in one line.
  public var lastDamage: String?
  /// What is delivered; nil before the first connection.
  public var mode: CaptureMode?
  /// What was counted.
  public var counters = SourceCounters()

  init(_ state: SourceState, since: Duration) {
    self.state = state
    self.since = since
  }
}
