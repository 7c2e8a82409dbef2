// What is known of a camera from looking at it a few times a second; no clock of its own.
internal import GLPreview

/// A camera as it was seen of late.
struct WatchedCamera: Sendable {
  var report: CameraReport
  /// How many frames there were at some times of late.
  private var samples: [(time: Duration, frames: Int)] = []
  /// When it was last asked for a picture to see whether it works.
  var provedAt: Duration?
  var isBeingProved = false

  /// Frames a second are counted over so long.
  private static let window = Duration.seconds(3)

  init(report: CameraReport) { self.report = report }

  /// Frames of a source without states make it live for so long.
  private static let freshFor = Duration.seconds(2)

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
        reason = (failure as? SourceError)?.reason ?? "\(failure)"
        if !isFresh(frames, at: now) { state = .lost }
      }
    } else if let failure {
      state = .lost
      reason = (failure as? SourceError)?.reason ?? "\(failure)"
    } else if isFresh(frames, at: now) {
      state = .live
    }
    if state != report.state { report.since = since ?? WallTime(capturedAt: now) }
    (report.state, report.reason) = (state, reason)
    switch state {
    case .live: report.isProven = true
    case .lost, .stalled: report.isProven = false
    case .opening, .idle: break
    }
  }
}
