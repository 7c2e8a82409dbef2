// The state machine of a live source: states, counters and retries. It only decides; it has no clock, timer
// or connection, so that every case can be tested directly.
internal import Synchronization

struct SourceMonitor: Sendable {
  private(set) var status: SourceStatus
  private let options: LiveOptions
  private let reconnectsWhenSilent: Bool
  private var backoff: Backoff
  /// When the current connection was made; nil if there is none.
  private var connectedAt: CaptureInstant?
  /// When the last picture arrived, on any connection.
  private var lastPicture: CaptureInstant?
  /// The start of the retry limit if no picture has arrived yet.
  private let start: CaptureInstant
  private var connections = 0
  /// When and why a picture last could not be decoded for lack of memory; nil if that is over.
  private var shortage: (time: CaptureInstant, reason: String)?

  /// How long a shortage is reported after the last picture that it cost, because shortages come and go.
  static let shortageReportedFor = Duration.seconds(5)

  /// After a connection that lasted this long, the pauses between attempts start short again.
  static let provenAfter = Duration.seconds(5)

  enum Recovery: Sendable, Equatable {
    case retry(after: Duration)
    case giveUp
  }

  enum ConnectionCheck: Sendable, Equatable {
    case wait(until: CaptureInstant)
    case reconnect(reason: String)
  }

  init(
    _ options: LiveOptions, longestPause: Duration, reconnectsWhenSilent: Bool = true, at now: CaptureInstant
  ) {
    self.options = options
    self.reconnectsWhenSilent = reconnectsWhenSilent
    backoff = Backoff(longest: longestPause)
    start = now
    status = SourceStatus(.opening, since: now)
  }

  /// Records a connection. The source is live once a picture arrives.
  mutating func connected(_ mode: SourceStatus.Mode, at now: CaptureInstant) {
    connections += 1
    connectedAt = now
    status.mode = mode
    status.counters.reconnections = connections - 1
  }

  /// Records a picture, and `skipped` pictures before it that never arrived.
  mutating func received(skipped: Int = 0, mode: SourceStatus.Mode? = nil, at now: CaptureInstant) {
    lastPicture = now
    status.counters.received += 1
    status.counters.missed += skipped
    if let mode { status.mode = mode }
    if let connectedAt, now - connectedAt >= Self.provenAfter { backoff.reset() }
    if let time = shortage?.time, now - time >= Self.shortageReportedFor { shortage = nil }
    change(to: .live, shortage?.reason, at: now)
  }

  /// Records a picture that was dropped because there was no memory to decode it.
  mutating func foundNoMemory(_ reason: String, at now: CaptureInstant) {
    status.counters.dropped += 1
    shortage = (now, reason)
    if status.state == .live { status.reason = reason }
  }

  /// Records a picture that arrived damaged. It does not count as activity: a camera without undamaged
  /// pictures is stalled.
  mutating func receivedDamaged(_ reason: String) {
    status.counters.received += 1
    foundDamaged(reason)
  }

  mutating func foundDamaged(_ reason: String) {
    status.counters.damaged += 1
    status.lastDamage = reason
  }

  /// Records pictures that were replaced by newer ones.
  mutating func dropped(_ count: Int) { status.counters.dropped += count }

  /// Decides whether to keep the connection. `isHeld` means that no reader takes pictures, so none can
  /// arrive.
  mutating func checkConnection(isHeld: Bool, at now: CaptureInstant) -> ConnectionCheck {
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
    // A lost source that is connected again but sends no picture is still lost.
    if status.state == .live || status.state == .opening {
      change(to: .stalled, "no picture for \(Self.seconds(options.stallsAfter)) s", at: now)
    }
    return .wait(until: max(last + options.reconnectsAfter, now + options.stallsAfter))
  }

  /// Records that the connection ended or could not be made. `jitter` is random, from 0 to 1.
  mutating func failed(_ error: SourceError, at now: CaptureInstant, jitter: Double) -> Recovery {
    connectedAt = nil
    change(to: .lost, error.reason, at: now)
    let recovery = recovery(from: error, at: now, jitter: jitter)
    status.isFinished = recovery == .giveUp
    return recovery
  }

  private mutating func recovery(
    from error: SourceError, at now: CaptureInstant, jitter: Double
  ) -> Recovery {
    if error.kind == .badRequest { return .giveUp }
    let pause = backoff.nextPause(jitter: jitter)
    guard let limit = options.givesUpAfter else { return .retry(after: pause) }
    let end = (lastPicture ?? start) + limit
    return now < end ? .retry(after: min(pause, end - now)) : .giveUp
  }

  mutating func closed(at now: CaptureInstant) {
    connectedAt = nil
    status.isFinished = true
    change(to: .idle, nil, at: now)
  }

  private mutating func change(to state: SourceState, _ reason: String?, at now: CaptureInstant) {
    guard status.state != .idle else { return }
    if status.state != state { status.since = now }
    status.state = state
    status.reason = reason
  }

  /// Formats seconds for messages: 2, or 0.25.
  private static func seconds(_ duration: Duration) -> String { (duration / .seconds(1)).shortText }
}

/// Holds the monitor of a source, and reports each change to any number of observers.
final class WatchedMonitor: Sendable {
  private let state: Mutex<State>

  private struct State: Sendable {
    var monitor: SourceMonitor
    var changes = Broadcast<SourceStatus>()
  }

  init(_ monitor: SourceMonitor) { state = Mutex(State(monitor: monitor)) }

  var status: SourceStatus { state.withLock { $0.monitor.status } }

  /// Changes the monitor, and notifies observers if the state or the mode has changed.
  func change<Result: Sendable>(_ body: (inout SourceMonitor) -> Result) -> Result {
    state.withLock { state in
      let before = state.monitor.status
      let result = body(&state.monitor)
      let after = state.monitor.status
      if before.state != after.state || before.mode != after.mode { state.changes.send(after) }
      return result
    }
  }

  /// Returns the current status, then every change.
  func stream() -> AsyncStream<SourceStatus> {
    state.withLock { state in state.changes.stream(after: state.monitor.status) }
  }

  func finish() { state.withLock { $0.changes.finish() } }
}
