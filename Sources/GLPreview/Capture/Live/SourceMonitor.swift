// What a live source makes of what happens to it: states, counters, and when to try again. Decides only; it has no clock,
// no timer and no connection, so that every case can be tested by hand.
internal import PreviewCore

/// The state of one live source, as events change it. Times are `CaptureClock`'s.
struct SourceMonitor: Sendable {
  private(set) var status: SourceStatus
  private let options: LiveOptions
  private let reconnectsWhenSilent: Bool
  private var backoff: Backoff
  /// When the connection in use was made; nil where there is none.
  private var connectedAt: Duration?
  /// When the last picture came, of any connection.
  private var lastPicture: Duration?
  /// What patience is counted from where no picture ever came.
  private let start: Duration
  private var connections = 0
  /// Since when and why pictures can't be decoded for want of memory; nil where they can.
  private var shortage: (time: Duration, reason: String)?

  /// A shortage is told for so long after the last picture that it took: it comes and goes.
  static let shortageIsToldFor = Duration.seconds(5)

  /// A connection that lived for so long begins with short pauses again.
  static let provenAfter = Duration.seconds(5)

  /// What is to be done after a failure.
  enum Recovery: Sendable, Equatable {
    /// Try again after this pause.
    case retry(after: Duration)
    /// Nobody wants to wait any longer.
    case giveUp
  }

  /// What is to be done when time has passed.
  enum Patience: Sendable, Equatable {
    /// Look again then.
    case wait(until: Duration)
    /// Give the connection up.
    case reconnect(reason: String)
  }

  init(_ options: LiveOptions, longestPause: Duration, reconnectsWhenSilent: Bool = true, at now: Duration) {
    self.options = options
    self.reconnectsWhenSilent = reconnectsWhenSilent
    backoff = Backoff(longest: longestPause)
    start = now
    status = SourceStatus(.opening, since: now)
  }

  /// A connection was made. It is live when it gives a picture.
  mutating func connected(_ mode: CaptureMode, at now: Duration) {
    connections += 1
    connectedAt = now
    status.mode = mode
    status.counters.reconnections = connections - 1
  }

  /// A picture came, and `skipped` before it never did.
  mutating func received(skipped: Int = 0, mode: CaptureMode? = nil, at now: Duration) {
    lastPicture = now
    status.counters.received += 1
    status.counters.missed += skipped
    if let mode { status.mode = mode }
    if let connectedAt, now - connectedAt >= Self.provenAfter { backoff.reset() }
    if let time = shortage?.time, now - time >= Self.shortageIsToldFor { shortage = nil }
    change(to: .live, shortage?.reason, at: now)
  }

  /// A picture that had come was dropped: there was no memory to decode it in.
  mutating func foundNoMemory(_ reason: String, at now: Duration) {
    status.counters.dropped += 1
    shortage = (now, reason)
    if status.state == .live { status.reason = reason }
  }

  /// Pictures came that were broken. That is no sign of life: a camera whose pictures are all broken is stalled.
  mutating func received(damaged count: Int, _ reason: String) {
    status.counters.received += count
    status.counters.damaged += count
    status.lastDamage = reason
  }

  /// A picture that had come turned out to be broken.
  mutating func foundDamaged(_ reason: String) {
    status.counters.damaged += 1
    status.lastDamage = reason
  }

  /// A picture was replaced by a newer one.
  mutating func dropped(_ count: Int = 1) { status.counters.dropped += count }

  /// Whether the connection is to be kept. `isHeld` says that nobody takes pictures, so that none can come.
  mutating func patience(isHeld: Bool, at now: Duration) -> Patience {
    guard let connectedAt else { return .wait(until: now + options.stallsAfter) }
    if isHeld {
      self.connectedAt = now
      return .wait(until: now + options.stallsAfter)
    }
    let last = max(lastPicture ?? connectedAt, connectedAt)
    let silence = now - last
    if silence >= options.reconnectsAfter, reconnectsWhenSilent {
      return .reconnect(reason: "no picture for \(Self.seconds(options.reconnectsAfter)) s")
    }
    guard silence >= options.stallsAfter else { return .wait(until: last + options.stallsAfter) }
    // A lost source that is connected again but gives nothing is lost still.
    if status.state == .live || status.state == .opening {
      change(to: .stalled, "no picture for \(Self.seconds(options.stallsAfter)) s", at: now)
    }
    return .wait(until: max(last + options.reconnectsAfter, now + options.stallsAfter))
  }

  /// The connection ended, or could not be made. `jitter` is drawn by chance, 0 to 1.
  mutating func failed(_ error: SourceError, at now: Duration, jitter: Double) -> Recovery {
    connectedAt = nil
    change(to: .lost, error.reason, at: now)
    let recovery = recovery(from: error, at: now, jitter: jitter)
    status.isFinished = recovery == .giveUp
    return recovery
  }

  private mutating func recovery(from error: SourceError, at now: Duration, jitter: Double) -> Recovery {
    if error.kind == .badRequest { return .giveUp }
    let pause = backoff.nextPause(jitter: jitter)
    guard let patience = options.givesUpAfter else { return .retry(after: pause) }
    let end = (lastPicture ?? start) + patience
    return now < end ? .retry(after: min(pause, end - now)) : .giveUp
  }

  /// Over for good.
  mutating func closed(at now: Duration) {
    connectedAt = nil
    status.isFinished = true
    change(to: .idle, nil, at: now)
  }

  private mutating func change(to state: SourceState, _ reason: String?, at now: Duration) {
    guard status.state != .idle else { return }
    if status.state != state { status.since = now }
    status.state = state
    status.reason = reason
  }

  /// For messages: 2, or 0.25.
  private static func seconds(_ duration: Duration) -> String {
    let seconds = duration / .seconds(1)
    return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
  }
}
