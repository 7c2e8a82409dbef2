// Converts a source's status to an outage.

extension Outage {
  /// The outage of a source with this status; one that is live counts as stalled.
  init(_ status: SourceStatus) {
    self.init(
      status.state == .live ? .stalled : status.state, reason: status.reason ?? "", sinceCapture: status.since
    )
  }

  /// An outage since `time`.
  init(_ state: SourceState, reason: String = "", sinceCapture time: CaptureInstant) {
    self.init(state, reason: reason, since: CaptureClock.timeSince1970(time) / .seconds(1))
  }
}
