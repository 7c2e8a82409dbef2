// What happened of late, for whoever listens: each reads the log at his own pace, and who falls behind its end is told so.
internal import GLPreview
internal import HTTPTypes
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// The last events, and those who follow them.
///
/// A follower is a place in the log, not a queue: who is slow costs nothing, and when what he has not read yet is dropped,
/// he is told how many he lost. Ends with the service, or with `finish()`.
final class EventLog: Service {
  private struct State {
    var events: [ServerEvent] = []
    var bytes = 0
    /// The number of the next event.
    var next = 1
    var isFinished = false

    /// The number of the first event that is kept.
    var first: Int { next - events.count }

    /// What a follower at `place` meets, and his next place.
    func step(from place: Int, types: Set<String>?) -> (step: Step, next: Int) {
      guard place >= first else { return (.lost(first - place), first) }
      var place = place
      while place < next {
        let event = events[place - first]
        place += 1
        if types?.contains(event.type) ?? true { return (.event(event), place) }
      }
      return (isFinished ? .end : .nothing, place)
    }
  }

  /// What a follower meets next in the log.
  enum Step: Sendable {
    case event(ServerEvent)
    /// So many events, of all types, were dropped before they were read.
    case lost(Int)
    /// Nothing yet.
    case nothing
    case end
  }

  /// Of this life of the service.
  let epoch: String
  private let capacity: Int
  private let maximumBytes: Int
  private let gate: AdHocGate
  private let state = Watched(State())

  /// - Parameters:
  ///   - capacity: events that are kept.
  ///   - maximumBytes: of their texts together; the last is kept however large it is.
  ///   - maximumSubscribers: who may follow at a time.
  ///   - epoch: of this life of the service; drawn unless told.
  init(
    capacity: Int = 256, maximumBytes: Int = 8 << 20, maximumSubscribers: Int = 256, epoch: String? = nil
  ) {
    self.capacity = max(1, capacity)
    self.maximumBytes = maximumBytes
    gate = AdHocGate(capacity: maximumSubscribers, subject: "follow the events", retryAfter: 10)
    self.epoch = epoch ?? String(UInt64.random(in: (1 << 60)...UInt64.max), radix: 16)
  }

  /// Tells everybody.
  ///
  /// - Parameters:
  ///   - type: one of `ServerEvent.types`.
  ///   - data: JSON, UTF-8.
  /// - Returns: the event; nil after the end.
  @discardableResult
  func publish(type: String, data: [UInt8]) -> ServerEvent? {
    state.update { state in
      guard !state.isFinished else { return nil }
      let event = ServerEvent(id: EventID(epoch: epoch, number: state.next), type: type, data: data)
      state.next += 1
      state.events.append(event)
      state.bytes += event.text.readableBytes
      trim(&state)
      return event
    }
  }

  /// Begins to follow.
  ///
  /// - Parameters:
  ///   - lastID: the last event that the follower knows; nil is all that were. Of one that this log never had, as of an
  ///     earlier life, everything that is kept is new.
  ///   - types: which events; nil is all.
  /// - Returns: the follower's place.
  /// - Throws: a `Problem`: 503 where too many follow already, 429 where too many of this client's do.
  func subscribe(after lastID: String? = nil, types: Set<String>? = nil) throws(Problem) -> EventSubscription
  {
    let pass = try gate.enter()
    let place = state.withLock { state in
      guard let lastID else { return state.next }
      guard let id = EventID(lastID), id.epoch == epoch, id.number < state.next else { return state.first }
      return id.number + 1
    }
    return EventSubscription(self, at: place, types: types, holding: pass)
  }

  /// Nothing is told any more; who follows ends when he has read the rest.
  func finish() { state.update { $0.isFinished = true } }

  /// How many follow.
  var subscriberCount: Int { gate.count }

  /// Waits for the end of the service, and tells who follows.
  func run() async throws {
    try? await gracefulShutdown()
    finish()
  }

  /// What a follower at `place` meets; `nothing` where that does not come before `deadline`. `isOver` ends the wait early.
  fileprivate func step(
    from place: Int, types: Set<String>?, until deadline: Duration, unless isOver: @Sendable () -> Bool
  ) async throws -> (step: Step, next: Int) {
    try await state.first(until: deadline) { state in
      let (step, next) = state.step(from: place, types: types)
      if isOver() { return (.end, next) }
      if case .nothing = step { return nil }
      return (step, next)
    } ?? (.nothing, place)
  }

  /// Has all who wait look again.
  fileprivate func wake() { state.update { _ in } }

  private func trim(_ state: inout State) {
    var dropped = 0
    while state.events.count - dropped > 1,
      state.events.count - dropped > capacity || state.bytes > maximumBytes
    {
      state.bytes -= state.events[dropped].text.readableBytes
      dropped += 1
    }
    state.events.removeFirst(dropped)
  }
}

/// Somebody's place in a log; he is counted as long as this is held.
final class EventSubscription: Sendable {
  private struct Place {
    var number: Int
    var isOver = false
  }

  private let log: EventLog
  private let pass: AdHocPass
  private let types: Set<String>?
  private let place: Mutex<Place>

  fileprivate init(_ log: EventLog, at number: Int, types: Set<String>?, holding pass: AdHocPass) {
    self.log = log
    self.pass = pass
    self.types = types
    place = Mutex(Place(number: number))
  }

  /// The next step; `nothing` where none comes within `patience`. To be asked by one task at a time.
  func next(within patience: Duration) async -> EventLog.Step {
    let from = place.withLock { $0.number }
    let met = try? await log.step(from: from, types: types, until: CaptureClock.now + patience) { [self] in
      place.withLock { $0.isOver }
    }
    guard let met else { return .end }
    place.withLock { $0.number = met.next }
    return met.step
  }

  /// Ends it: from another task than the one that asks.
  func end() {
    place.withLock { $0.isOver = true }
    log.wake()
  }
}
