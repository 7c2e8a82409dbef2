// What happened of late, for whoever listens: each reads the log at his own pace, and who falls behind its end is told so.
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
    var version = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWait = 0

    /// The number of the first event that is kept.
    var first: Int { next - events.count }
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
  private let state = Mutex(State())

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
    let (event, waiting) = state.withLock { state -> (ServerEvent?, [CheckedContinuation<Void, Never>]) in
      guard !state.isFinished else { return (nil, []) }
      let event = ServerEvent(id: EventID(epoch: epoch, number: state.next), type: type, data: data)
      state.next += 1
      state.events.append(event)
      state.bytes += event.text.readableBytes
      trim(&state)
      return (event, Self.takeWaiting(&state))
    }
    for continuation in waiting { continuation.resume() }
    return event
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
  func finish() {
    let waiting = state.withLock { state in
      state.isFinished = true
      return Self.takeWaiting(&state)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// How many follow.
  var subscriberCount: Int { gate.count }

  /// Waits for the end of the service, and tells who follows.
  func run() async throws {
    try? await gracefulShutdown()
    finish()
  }

  /// What a follower at `place` meets, and his next place.
  func step(from place: Int, types: Set<String>?) -> (step: Step, next: Int) {
    state.withLock { state in
      guard place >= state.first else { return (.lost(state.first - place), state.first) }
      var place = place
      while place < state.next {
        let event = state.events[place - state.first]
        place += 1
        if types?.contains(event.type) ?? true { return (.event(event), place) }
      }
      return (state.isFinished ? .end : .nothing, place)
    }
  }

  /// Changes with whatever may be news to somebody who follows.
  fileprivate var version: Int { state.withLock { $0.version } }

  /// Returns when the version is not `version` any more, and when the task is cancelled.
  fileprivate func wait(since version: Int) async {
    let number = state.withLock { state in
      state.nextWait += 1
      return state.nextWait
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.version == version, !Task.isCancelled else { return true }
          state.waiting[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }

  /// Has all who wait look again.
  fileprivate func wake() {
    let waiting = state.withLock { Self.takeWaiting(&$0) }
    for continuation in waiting { continuation.resume() }
  }

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

  private static func takeWaiting(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    defer { state.waiting = [:] }
    state.version += 1
    return Array(state.waiting.values)
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
    let step = take()
    guard case .nothing = step else { return step }
    await withTaskGroup { group in
      group.addTask { [self] in
        while !Task.isCancelled {
          let version = log.version
          guard !isDue else { return }
          await log.wait(since: version)
        }
      }
      group.addTask { try? await Task.sleep(for: patience) }
      await group.next()
      group.cancelAll()
    }
    return Task.isCancelled ? .end : take()
  }

  /// Ends it: from another task than the one that asks.
  func end() {
    place.withLock { $0.isOver = true }
    log.wake()
  }

  /// Whether there is something to tell.
  private var isDue: Bool {
    let place = place.withLock { $0 }
    guard !place.isOver, case .nothing = log.step(from: place.number, types: types).step else { return true }
    return false
  }

  private func take() -> EventLog.Step {
    place.withLock { place in
      guard !place.isOver else { return .end }
      let (step, next) = log.step(from: place.number, types: types)
      place.number = next
      return step
    }
  }
}
