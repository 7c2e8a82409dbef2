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

/// The state of a source when a scene is composed.
package struct SourceAppearance: Sendable, Hashable {
  /// Whether there is any frame of it, however old.
  package var hasFrame: Bool
  /// Why it delivers no frames; nil while it is live. A live source without a frame is being opened.
  package var outage: Outage?
  /// The fallback pictures for this state, unless the tile has its own.
  package var pictures: Fallback
  /// The capture time of its newest frame, in seconds since 1970; nil if unknown.
  package var capturedAt: Double?

  package init(
    hasFrame: Bool, outage: Outage? = nil, pictures: Fallback = .standard, capturedAt: Double? = nil
  ) {
    self.hasFrame = hasFrame
    self.outage = outage
    self.pictures = pictures
    self.capturedAt = capturedAt
  }

  /// A source that delivers frames.
  package static let live = SourceAppearance(hasFrame: true)
}
