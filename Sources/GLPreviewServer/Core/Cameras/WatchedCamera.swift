// The monitored state of a camera, derived from a few observations per second. It reads no clock itself.

/// The last known state of a camera.
package struct CameraReport: Sendable {
  package var state = SourceState.idle
  /// The reason why it is stalled or lost.
  package var reason: String?
  package var since: WallTime
  /// The current frame rate, in frames per second.
  package var framesPerSecond = 0.0
  var mode: SourceStatus.Mode?
  var counters = SourceStatus.Counters()
  /// The number of frames read.
  var frames = 0
  /// The times of the oldest and the newest buffered frame when its state changed.
  var replay: ClosedRange<WallTime>?
  /// Whether it delivered a picture when last tested.
  var isProven = false
}

/// The recently observed state of a camera.
package struct WatchedCamera: Sendable {
  /// The beginning of a state.
  package struct Change: Sendable {
    package let state: SourceState
    package let reason: String?
    package let since: WallTime
  }

  private(set) var report = CameraReport(since: .now)
  /// The times when it was lost or stalled, and when it became live again, oldest first.
  private(set) var changes: [Change] = []
  /// Recent frame counts and their times.
  private var samples: [(time: CaptureInstant, frames: Int)] = []
  /// The time of the last test by a requested frame.
  private(set) var provedAt: CaptureInstant?
  var isBeingProved = false
  private var proofFailure: String?
  /// The last time when it was lost or stalled; nil if it has been live since.
  private var troubleSeenAt: CaptureInstant?
  /// The last reported state, and the reasons reported for it.
  private var reported: (state: SourceState, reasons: Set<String?>)?

  /// The period over which the frame rate is measured.
  private static let window = Duration.seconds(3)
  /// How long a source that reports no states counts as live after a frame.
  private static let freshFor = Duration.seconds(2)
  /// How long a camera in trouble keeps that state while it is idle or being reopened; these states are not
  /// reported then.
  private static let troubleHolds = Duration.seconds(60)
  /// The most reasons to report for one trouble, for a camera that gives a new reason each time.
  private static let mostReasons = 8
  private static let mostChanges = 64

  /// Whether it stays as it is while its source is inactive: it has no trouble, and has read no frames lately.
  var isSettled: Bool { troubleSeenAt == nil && samples.first?.frames == samples.last?.frames }

  /// Returns whether frames were read recently.
  private func isFresh(_ frames: Int, at now: CaptureInstant) -> Bool {
    samples.first { $0.time >= now - Self.freshFor }.map { frames > $0.frames } ?? false
  }

  /// Takes an observation. Returns the report if it has changed, and whether the camera stays as it is while
  /// its source is inactive.
  mutating func observe(
    _ seen: SourceObservation?, _ frames: Int, at now: CaptureInstant
  ) -> (change: CameraReport?, isSettled: Bool) {
    update(seen?.status, seen?.failure, frames, at: now)
    return (takeReport(), isSettled)
  }

  mutating func update(
    _ status: SourceStatus?, _ failure: (any Error)?, _ frames: Int, at now: CaptureInstant
  ) {
    samples.append((now, frames))
    samples.removeAll { $0.time < now - Self.window }
    report.frames = frames
    if let first = samples.first, let last = samples.last, last.time > first.time {
      report.framesPerSecond = Double(last.frames - first.frames) / ((last.time - first.time) / .seconds(1))
    }
    var (state, reason) = (SourceState.idle, String?.none)
    var since: WallTime?
    if let status {
      report.mode = status.mode
      report.counters = status.counters
      reason = status.reason
      since = WallTime(capturedAt: status.since)
      state = status.state
      // Frames arrive, but are refused or can't be cropped as configured.
      if let failure, state == .live {
        reason = Self.reason(failure)
        if !isFresh(frames, at: now) { state = .lost }
      }
    } else if let failure {
      state = .lost
      reason = Self.reason(failure)
    } else if isFresh(frames, at: now) {
      state = .live
    }
    if state.isTrouble {
      troubleSeenAt = now
    } else if state == .live {
      troubleSeenAt = nil
    } else if let seen = troubleSeenAt, now - seen < Self.troubleHolds {
      return
    }
    // The status has the time of the last attempt to connect; the trouble began earlier.
    if state != report.state { report.since = since ?? WallTime(capturedAt: now) }
    (report.state, report.reason) = (state, reason)
    switch state {
    case .live: report.isProven = true
    case .lost, .stalled: report.isProven = false
    case .opening, .idle, .off: break
    }
  }

  /// Records a test of the camera; `failure` is the error if it failed.
  mutating func proved(_ failure: (any Error)?, at now: CaptureInstant) {
    isBeingProved = false
    provedAt = now
    proofFailure = failure.map(Self.reason)
    if failure == nil {
      report.isProven = true
      troubleSeenAt = nil
    } else if report.state != .live {
      troubleSeenAt = now
      // It may have been opened only for the test, without a client.
      if !report.state.isTrouble {
        report.since = WallTime(capturedAt: now)
        (report.state, report.reason) = (.lost, proofFailure)
      }
    }
  }

  /// Records a change. A camera that was only opened or closed is neither lost nor live again.
  private mutating func note() {
    guard report.state == .live || report.state.isTrouble, changes.last?.state != report.state else { return }
    changes.append(Change(state: report.state, reason: report.reason, since: report.since))
    if changes.count > Self.mostChanges { changes.removeFirst() }
  }

  /// Returns the report if its state or reason has not been reported yet.
  mutating func takeReport() -> CameraReport? {
    if reported?.state != report.state {
      note()
      reported = (report.state, [report.reason])
      return report
    }
    guard let reasons = reported?.reasons, reasons.count < Self.mostReasons, !reasons.contains(report.reason)
    else { return nil }
    reported?.reasons.insert(report.reason)
    return report
  }

  /// The reason why it does not work; nil if it works, or worked in the last test.
  var failure: String? {
    switch report.state {
    case .live: nil
    case .idle where report.isProven, .off: nil
    case .lost, .stalled: report.reason ?? proofFailure ?? "is \(report.state.rawValue)"
    case .idle, .opening: proofFailure ?? (report.state == .opening ? "is opening" : Self.notTried)
    }
  }

  /// The failure of a camera that has not been tested yet.
  static let notTried = "has not delivered a frame yet"

  private static func reason(_ error: any Error) -> String {
    (error as? SourceError)?.reason ?? Redaction.message("\(error)")
  }
}

extension SourceState {
  package var isTrouble: Bool { self == .lost || self == .stalled }
}
