// The log of recent events. Each subscriber reads it at its own pace, and is told how many events it has missed.
internal import GLPreview
internal import HTTPTypes
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

struct ServerEvent: Sendable, Hashable {
  /// The event types that a client can request.
  static let types = ["camera", "motion", "service", "snapshot", "view"]

  /// `EPOCH-N`: the run of the service, and the event's number in it.
  let id: EventID
  let type: String
  /// As server-sent events require (HTML Standard, 9.2): `id`, `event` and `data`.
  let text: ByteBuffer

  init(id: EventID, type: String, data: [UInt8]) {
    self.id = id
    self.type = type
    var text = ByteBuffer()
    text.reserveCapacity(data.count + 64)
    text.writeString("id: \(id)\nevent: \(type)\n")
    // A data line ends at CR, LF or both, so each line becomes a field.
    for line in data.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      text.writeString("data: ")
      text.writeBytes(line)
      text.writeString("\n")
    }
    text.writeString("\n")
    self.text = text
  }
}

/// An event as it was published here.
struct OwnEvent: Sendable, Hashable {
  let type: String
  let data: [UInt8]
}

struct EventID: Sendable, Hashable {
  /// The run of the service: 16 random hexadecimal digits.
  let epoch: String
  /// From 1.
  let number: Int
}

extension EventID: CustomStringConvertible {
  /// Reads what `description` writes.
  init?(_ text: String) {
    guard let dash = text.lastIndex(of: "-"), let number = Int(text[text.index(after: dash)...]), number > 0
    else { return nil }
    self.init(epoch: String(text[..<dash]), number: number)
  }

  var description: String { "\(epoch)-\(number)" }
}

/// The latest events and their subscribers.
///
/// A subscription is a position in the log, not a queue: a slow subscriber costs nothing, and is told the number of
/// events dropped before it read them. The log ends with the service, or with `finish()`.
final class EventLog: Service {
  private struct State {
    var events: [ServerEvent] = []
    var bytes = 0
    /// The number of the next event.
    var next = 1
    var isFinished = false
    /// Those who tell other nodes.
    var followers: [AsyncStream<OwnEvent>.Continuation] = []

    /// The number of the oldest event kept.
    var first: Int { next - events.count }

    /// The next step for a subscriber at `place`, and its next position.
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

  /// What a subscriber reads next.
  enum Step: Sendable {
    case event(ServerEvent)
    /// This many events, of all types, were dropped before they were read.
    case lost(Int)
    case nothing
    case end
  }

  /// Identifies this run of the service.
  let epoch: String
  private let capacity: Int
  private let maximumBytes: Int
  private let gate: AdmissionLimit
  private let state = Watched(State())

  /// Keeps `capacity` events, and `maximumBytes` of their texts; the last event is kept whatever its size.
  init(
    capacity: Int = 256, maximumBytes: Int = 8 << 20, maximumSubscribers: Int = 256, epoch: String? = nil
  ) {
    self.capacity = max(1, capacity)
    self.maximumBytes = maximumBytes
    gate = AdmissionLimit(capacity: maximumSubscribers, subject: "event connections", retryAfter: 10)
    self.epoch = epoch ?? String(UInt64.random(in: (1 << 60)...UInt64.max), radix: 16)
  }

  /// Publishes JSON as an event of one of `ServerEvent.types`, unless the log has ended.
  func publish(type: String, data: [UInt8]) {
    add(type, data)
    for follower in state.withLock({ $0.followers }) { follower.yield(OwnEvent(type: type, data: data)) }
  }

  /// Publishes an event of another node. It is not told to nodes again.
  func relay(_ event: RelayedEvent, from node: String) { add(event.type, event.json(from: node)) }

  /// This node's own events from now on. Somebody slow is told of the newest.
  func own() -> AsyncStream<OwnEvent> {
    let (stream, follower) = AsyncStream.makeStream(of: OwnEvent.self, bufferingPolicy: .bufferingNewest(64))
    state.withLock { $0.followers.append(follower) }
    return stream
  }

  private func add(_ type: String, _ data: [UInt8]) {
    state.update { state in
      guard !state.isFinished else { return }
      let event = ServerEvent(id: EventID(epoch: epoch, number: state.next), type: type, data: data)
      state.next += 1
      state.events.append(event)
      state.bytes += event.text.readableBytes
      trim(&state)
    }
  }

  /// Starts a subscription to events of some types, or of all, after the last one that the client knows; nil skips all
  /// past events. If this log never had it, as after a restart, all kept events are new.
  ///
  /// - Throws: a `Problem`: 503 if there are too many subscribers, 429 if this client has too many.
  func subscribe(after lastID: String? = nil, types: Set<String>? = nil) throws(Problem) -> EventSubscription
  {
    let permit = try gate.enter()
    let place = state.withLock { state in
      guard let lastID else { return state.next }
      guard let id = EventID(lastID), id.epoch == epoch, id.number < state.next else { return state.first }
      return id.number + 1
    }
    return EventSubscription(self, at: place, types: types, holding: permit)
  }

  /// Ends the log. Subscribers end when they have read the rest.
  func finish() { state.update { $0.isFinished = true } }

  var subscriberCount: Int { gate.count }

  func run() async throws {
    try? await gracefulShutdown()
    finish()
  }

  /// The next step for a subscriber at `place`; `nothing` at `deadline`. `isOver` ends the wait early.
  fileprivate func step(
    from place: Int, types: Set<String>?, until deadline: CaptureInstant, unless isOver: @Sendable () -> Bool
  ) async throws -> (step: Step, next: Int) {
    try await state.first(until: deadline) { state in
      let (step, next) = state.step(from: place, types: types)
      if isOver() { return (.end, next) }
      if case .nothing = step { return nil }
      return (step, next)
    } ?? (.nothing, place)
  }

  /// Makes all waiting subscribers check again.
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

/// A position in a log. The subscriber is counted while this object is held.
final class EventSubscription: Sendable {
  private struct Place {
    var number: Int
    var isOver = false
  }

  private let log: EventLog
  private let permit: AdmissionPermit
  private let types: Set<String>?
  private let place: Mutex<Place>

  fileprivate init(_ log: EventLog, at number: Int, types: Set<String>?, holding permit: AdmissionPermit) {
    self.log = log
    self.permit = permit
    self.types = types
    place = Mutex(Place(number: number))
  }

  /// The next step; `nothing` after `patience`. Must be called from one task at a time.
  func next(within patience: Duration) async -> EventLog.Step {
    let from = place.withLock { $0.number }
    let met = try? await log.step(from: from, types: types, until: CaptureClock.now + patience) { [self] in
      place.withLock { $0.isOver }
    }
    guard let met else { return .end }
    place.withLock { $0.number = met.next }
    return met.step
  }

  /// Ends the subscription, from another task than the one that reads.
  func end() {
    place.withLock { $0.isOver = true }
    log.wake()
  }
}
