// The monitored state of a camera, derived from a few observations a second. It has no clock of its own.

/// The last known state of a camera.
package struct CameraReport: Sendable {
  package var state = SourceState.idle
  /// Why it is stalled or lost.
  package var reason: String?
  package var since: WallTime
  /// The current frame rate, in frames per second.
  package var framesPerSecond = 0.0
  var mode: SourceStatus.Mode?
  var counters = SourceStatus.Counters()
  /// The number of frames read.
  var frames = 0
  /// The times of the earliest and the latest picture that is kept, when its state changed.
  var replay: ClosedRange<WallTime>?
  /// Whether it delivered a picture when last tested.
  var isProven = false
}

/// The recently observed state of a camera.
package struct WatchedCamera: Sendable {
  /// When it began to be in a state.
  package struct Change: Sendable {
    package let state: SourceState
    package let reason: String?
    package let since: WallTime
  }

  private(set) var report = CameraReport(since: .now)
  /// When it was lost, and when it was back, oldest first.
  private(set) var changes: [Change] = []
  /// Recent frame counts and their times.
  private var samples: [(time: CaptureInstant, frames: Int)] = []
  /// When it was last tested by requesting a picture.
  private(set) var provedAt: CaptureInstant?
  var isBeingProved = false
  private var proofFailure: String?
  /// When it was last seen lost or stalled, unless it has delivered a picture since.
  private var troubleSeenAt: CaptureInstant?
  /// The last reported state, and the reasons reported for it.
  private var told: (state: SourceState, reasons: Set<String?>)?

  /// The period over which the frame rate is measured.
  private static let window = Duration.seconds(3)
  /// How long a frame keeps a source without states live.
  private static let freshFor = Duration.seconds(2)
  /// A camera in trouble keeps that state while it is not being opened, and while it is being reopened, which is not
  /// reported.
  private static let troubleHolds = Duration.seconds(60)
  /// Limits the reports of a camera that gives a new reason for the same trouble each time.
  private static let mostReasons = 8
  private static let mostChanges = 64

  /// Whether frames were read recently.
  private func isFresh(_ frames: Int, at now: CaptureInstant) -> Bool {
    samples.first { $0.time >= now - Self.freshFor }.map { frames > $0.frames } ?? false
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
    // The time of a lost connection is that of the last attempt; the trouble began earlier.
    if state != report.state { report.since = since ?? WallTime(capturedAt: now) }
    (report.state, report.reason) = (state, reason)
    switch state {
    case .live: report.isProven = true
    case .lost, .stalled: report.isProven = false
    case .opening, .idle, .off: break
    }
  }

  /// Records a test; `failure` is the reason if it failed.
  mutating func proved(_ failure: (any Error)?, at now: CaptureInstant) {
    isBeingProved = false
    provedAt = now
    proofFailure = failure.map(Self.reason)
    if failure == nil {
      report.isProven = true
      troubleSeenAt = nil
    } else if report.state != .live {
      troubleSeenAt = now
      // It may have been open without a client.
      if !report.state.isTrouble {
        report.since = WallTime(capturedAt: now)
        (report.state, report.reason) = (.lost, proofFailure)
      }
    }
  }

  /// One that is only opened or closed is neither lost nor back.
  private mutating func note() {
    guard report.state == .live || report.state.isTrouble, changes.last?.state != report.state else { return }
    changes.append(Change(state: report.state, reason: report.reason, since: report.since))
    if changes.count > Self.mostChanges { changes.removeFirst() }
  }

  /// The report, if its state or reason has not been reported yet.
  mutating func takeNews() -> CameraReport? {
    if told?.state != report.state {
      note()
      told = (report.state, [report.reason])
      return report
    }
    guard let reasons = told?.reasons, reasons.count < Self.mostReasons, !reasons.contains(report.reason)
    else { return nil }
    told?.reasons.insert(report.reason)
    return report
  }

  /// Why it does not work; nil if it works, or worked when last tested.
  var failure: String? {
    switch report.state {
    case .live: nil
    case .idle where report.isProven, .off: nil
    case .lost, .stalled: report.reason ?? proofFailure ?? "is \(report.state.rawValue)"
    case .idle, .opening: proofFailure ?? (report.state == .opening ? "is being opened" : Self.notTried)
    }
  }

  /// For a camera that has not been tested yet.
  static let notTried = "has not given a picture yet"

  private static func reason(_ error: any Error) -> String {
    (error as? SourceError)?.reason ?? Redaction.message("\(error)")
  }
}

extension SourceState {
  package var isTrouble: Bool { self == .lost || self == .stalled }
}
