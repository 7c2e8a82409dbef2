// From how a source is to what is said in its place.
internal import PreviewCore

extension FallbackState {
  /// What a source's status comes to; of one that is live it says that it is stalled.
  init(_ status: SourceStatus) {
    let reason: FallbackReason =
      switch status.state {
      case .opening: .opening
      case .live, .stalled: .stalled
      case .lost, .closed: .lost
      }
    self.init(
      reason, text: status.reason ?? "", sinceCapture: status.since)
  }

  /// A state since `time`, by `CaptureClock`.
  init(_ reason: FallbackReason, text: String = "", sinceCapture time: Duration) {
    self.init(reason, text: text, since: CaptureClock.timeSince1970(time) / .seconds(1))
  }

  /// Switched off at `time`, by `CaptureClock`.
  static func off(since time: Duration) -> FallbackState {
    FallbackState(.off, sinceCapture: time)
  }
}

extension FallbackReason {
  /// What a source is said to be in a snapshot.
  var sourceState: SourceState {
    switch self {
    case .off: .closed
    case .opening: .opening
    case .stalled: .stalled
    case .lost: .lost
    }
  }
}
