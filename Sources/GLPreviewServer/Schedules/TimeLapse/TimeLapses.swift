// The time-lapses of a service: each is made once for all clients, and the latest are kept for a while.
internal import HTTPTypes
internal import ServiceLifecycle
internal import Synchronization

/// Makes time-lapses, and keeps the latest.
final class TimeLapses: Sendable {
  let maker: TimeLapseMaker
  /// Time-lapses that are being made.
  let flights = SingleFlightCache<String, TimeLapse>(capacity: 0) { _ in 0 }
  private let kept = Mutex(Kept())
  /// Tasks that wait for time-lapses in place of requests that were cancelled.
  private let abandoned = Mutex<Set<Task<Void, Never>>>([])
  /// Limits the time-lapses that are made at a time; others wait.
  let gate = AdmissionLimit(capacity: 2, subject: "time-lapses being made", retryAfter: 10)

  private struct Kept {
    var entries = LRUCache<String, Entry>(
      capacity: TimeLapses.mostKept, maximumCost: TimeLapses.mostBytes)
    /// Whether a task removes those that were not requested for long.
    var isExpiring = false

    /// Keeps a time-lapse as the one that was requested last. If there are too many, those that were not
    /// requested for longest are removed.
    mutating func hold(_ timeLapse: TimeLapse, _ key: String) {
      entries.insert(
        Entry(timeLapse: timeLapse, lastUse: CaptureClock.now), for: key, cost: timeLapse.byteCount)
    }
  }

  private struct Entry {
    let timeLapse: TimeLapse
    var lastUse: CaptureInstant
  }

  /// The most files that are kept, and their most bytes in total.
  static let mostKept = 8
  static let mostBytes = 1 << 30
  /// With more bytes of files, no other time-lapse is made. Removed files count while clients read them.
  private static let mostBytesInAll = 4 << 30
  /// How long a file is kept after it was requested last.
  static let lifetime = Duration.seconds(600)
  /// How long a request waits for others at most.
  private let queueTimeout: Duration
  /// How long a time-lapse is made on after its last request was cancelled, so that a retry finds it. Another
  /// node that forwards requests, or a proxy, may wait for less time than it takes.
  private let holding: Duration
  private static let pollInterval = Duration.seconds(60)

  init(_ maker: TimeLapseMaker, queueTimeout: Duration = .seconds(30), holding: Duration = .seconds(120)) {
    (self.maker, self.queueTimeout, self.holding) = (maker, queueTimeout, holding)
  }

  /// The number of files that are kept.
  var count: Int { kept.withLock { $0.entries.count } }

  /// Returns a time-lapse: one that is kept, or a new one. If all requests for it are cancelled, it is made
  /// for two more minutes, until another one needs its place, or until the service shuts down.
  ///
  /// - Throws: the errors of making it; `Problem` 429 and 503 if others are made for longer than a request
  ///   waits, 503 if clients still read too many bytes of files.
  func timeLapse(_ order: TimeLapseOrder) async throws -> TimeLapse {
    if let known = known(order.key) { return known }
    let holder: Task<Void, Never> = Task { [self] in
      guard !Task.isCancelled else { return }
      _ = try? await shared(order)
    }
    do {
      return try await shared(order)
    } catch {
      if Task.isCancelled { hold(holder) } else { holder.cancel() }
      throw error
    }
  }

  /// Waits for a time-lapse, which is made once for all that wait, and as long as any waits.
  private func shared(_ order: TimeLapseOrder) async throws -> TimeLapse {
    try await flights.value(order.key, { nil }) { [self] in try await made(order) }
  }

  private func made(_ order: TimeLapseOrder) async throws -> TimeLapse {
    // It may have been finished just before.
    if let known = known(order.key) { return known }
    let permit = try await place()
    defer { withExtendedLifetime(permit) {} }
    try requireRoom()
    let made = try await maker.make(order)
    keep(made, order.key)
    return made
  }

  /// Waits for a place. If there is none, time-lapses without a request give theirs up.
  private func place() async throws -> AdmissionPermit {
    if let permit = try? gate.enter() { return permit }
    let holders = abandoned.withLock { $0 }
    for holder in holders { holder.cancel() }
    return try await gate.enter(within: queueTimeout)
  }

  /// Lets a task wait on in place of a cancelled request, for two minutes or until the service shuts down.
  private func hold(_ holder: Task<Void, Never>) {
    abandoned.withLock { _ = $0.insert(holder) }
    Task { [weak self, holding] in
      try? await cancelWhenGracefulShutdown {
        try await CaptureClock().sleep(until: CaptureClock.now + holding)
      }
      holder.cancel()
      self?.forget(holder)
    }
  }

  private func forget(_ holder: Task<Void, Never>) { abandoned.withLock { _ = $0.remove(holder) } }

  /// Requires that all files together are not too large. Those that are kept are removed for that.
  private func requireRoom() throws(Problem) {
    guard maker.files.reserved > Self.mostBytesInAll else { return }
    kept.withLock { $0.entries.removeAll() }
    guard maker.files.reserved > Self.mostBytesInAll else { return }
    throw .busy(
      .serviceUnavailable, "the time-lapses that clients are still reading take more than 4 GiB",
      retryAfter: 30)
  }

  private func known(_ key: String) -> TimeLapse? {
    kept.withLock { kept in
      guard let known = kept.entries[key]?.timeLapse else { return nil }
      kept.hold(known, key)
      return known
    }
  }

  private func keep(_ timeLapse: TimeLapse, _ key: String) {
    let mustExpire = kept.withLock { kept in
      kept.hold(timeLapse, key)
      defer { kept.isExpiring = true }
      return !kept.isExpiring
    }
    guard mustExpire else { return }
    Task { [weak self] in
      repeat {
        await CaptureClock.sleep(untilMultipleOf: TimeLapses.pollInterval)
      } while self?.expire() ?? false
    }
  }

  /// Removes the files that were not requested for long, as of `now`. Returns whether any is left.
  @discardableResult
  func expire(at now: CaptureInstant = CaptureClock.now) -> Bool {
    kept.withLock { kept in
      kept.entries.removeAll { now - $0.lastUse >= Self.lifetime }
      kept.isExpiring = kept.entries.count > 0
      return kept.isExpiring
    }
  }
}
