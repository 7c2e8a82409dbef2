// What is known of a camera from looking at it a few times a second; no clock of its own.
internal import GLPreview

/// A camera as it was seen of late.
struct WatchedCamera: Sendable {
  private(set) var report: CameraReport
  /// How many frames there were at some times of late.
  private var samples: [(time: Duration, frames: Int)] = []
  /// When it was last asked for a picture to see whether it works.
  private(set) var provedAt: Duration?
  var isBeingProved = false
  /// Why that gave none.
  private var proofFailure: String?
  /// When it was last seen to be lost or stalled, unless it has given a picture since.
  private var troubleSeenAt: Duration?
  /// The state that was told last, and the reasons that were told of it.
  private var told: (state: CameraState, reasons: Set<String?>)?

  /// Frames a second are counted over so long.
  private static let window = Duration.seconds(3)
  /// Frames of a source without states make it live for so long.
  private static let freshFor = Duration.seconds(2)
  /// A camera in trouble stays so while nobody tries it, and while it is being tried again: that is no news.
  private static let troubleHolds = Duration.seconds(60)
  /// A camera that finds new words for the same trouble each time is not told of without end.
  private static let mostReasons = 8

  init(report: CameraReport = CameraReport(since: .now)) { self.report = report }

  /// Whether frames were taken a moment ago.
  private func isFresh(_ frames: Int, at now: Duration) -> Bool {
    samples.first { $0.time >= now - Self.freshFor }.map { frames > $0.frames } ?? false
  }

  mutating func update(
    _ status: SourceStatus?, _ failure: (any Error)?, _ frames: Int, at now: Duration
  ) {
    samples.append((now, frames))
    samples.removeAll { $0.time < now - Self.window }
    report.frames = frames
    if let first = samples.first, let last = samples.last, last.time > first.time {
      report.framesPerSecond = Double(last.frames - first.frames) / ((last.time - first.time) / .seconds(1))
    }
    var (state, reason) = (CameraState.idle, String?.none)
    var since: WallTime?
    if let status {
      report.mode = status.mode
      report.counters = status.counters
      reason = status.reason
      since = WallTime(capturedAt: status.since)
      state =
        switch status.state {
        case .opening: .opening
        case .live: .live
        case .stalled: .stalled
        case .lost: .lost
        case .closed: .idle
        }
      // Frames come, but they are refused, or crops can't be drawn of them.
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
    // The time at which a connection was lost is that of its last attempt: the trouble is older.
    if state != report.state { report.since = since ?? WallTime(capturedAt: now) }
    (report.state, report.reason) = (state, reason)
    switch state {
    case .live: report.isProven = true
    case .lost, .stalled: report.isProven = false
    case .opening, .idle: break
    }
  }

  /// It was asked for a picture; `failure` is why it gave none.
  mutating func proved(_ failure: (any Error)?, at now: Duration) {
    isBeingProved = false
    provedAt = now
    proofFailure = failure.map(Self.reason)
    if failure == nil {
      report.isProven = true
      troubleSeenAt = nil
    } else if report.state != .live {
      troubleSeenAt = now
      // Nobody may have looked while it was open.
      if !report.state.isTrouble {
        report.since = WallTime(capturedAt: now)
        (report.state, report.reason) = (.lost, proofFailure)
      }
    }
  }

  /// The report, where it says something that was not told: another state, or another reason for it.
  mutating func takeNews() -> CameraReport? {
    if told?.state != report.state {
      told = (report.state, [report.reason])
      return report
    }
    guard let reasons = told?.reasons, reasons.count < Self.mostReasons, !reasons.contains(report.reason)
    else { return nil }
    told?.reasons.insert(report.reason)
    return report
  }

  /// Why it does not work; nil where it does, or did when it was asked last.
  var failure: String? {
    switch report.state {
    case .live: nil
    case .idle where report.isProven: nil
    case .lost, .stalled: report.reason ?? proofFailure ?? "is \(report.state.rawValue)"
    case .idle, .opening: proofFailure ?? (report.state == .opening ? "is being opened" : Self.notTried)
    }
  }

  /// Of a camera that was not asked for a picture yet.
  static let notTried = "has not given a picture yet"

  private static func reason(_ error: any Error) -> String {
    (error as? SourceError)?.reason ?? Redaction.message("\(error)")
  }
}

extension CameraState {
  /// Whether somebody has to do something about it.
  var isTrouble: Bool { self == .lost || self == .stalled }
}
