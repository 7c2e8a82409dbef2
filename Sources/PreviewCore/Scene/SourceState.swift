// The states of a source. Cameras, events, metrics and HTTP headers use this one list.

/// Whether a source delivers frames, and if not, why.
public enum SourceState: String, Sendable, Hashable, CaseIterable, Codable {
  /// Closed: no one reads it, or it has ended.
  case idle
  /// Switched off by the program.
  case off
  /// Being opened or reopened; no frame has arrived yet.
  case opening
  /// Frames arrive.
  case live
  /// Open, but no frame has arrived for a while.
  case stalled
  /// Disconnected, or it can't be opened. Live sources are retried.
  case lost
}

/// A source's lack of frames: its state, the reason, and the start.
package struct Outage: Sendable, Hashable {
  package var state: SourceState
  /// The reason in a few words, such as `no such device`; empty if the state is enough.
  package var reason: String
  /// The start of the outage, in seconds since 1970.
  package var since: Double

  package init(_ state: SourceState, reason: String = "", since: Double) {
    self.state = state
    self.reason = reason
    self.since = since
  }
}

/// The state of a source when a scene is composed.
package struct SourceAppearance: Sendable, Hashable {
  /// Whether it has any frame, however old.
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
