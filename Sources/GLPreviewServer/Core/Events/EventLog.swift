// The log of recent events. Each subscriber reads it at its own pace, and is told how many events it has missed.
internal import HTTPTypes
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

struct ServerEvent: Sendable, Hashable {
  /// The event types that a client can request.
  static let types = ["camera", "motion", "recording", "service", "snapshot", "view"]

  /// `EPOCH-N`: the run of the service, and the event's number in it.
  let id: EventID
  let type: String
  /// Whether it is of this node.
  let isOwn: Bool
  /// As server-sent events require (HTML Standard, 9.2): `id`, `event` and `data`.
  let text: ByteBuffer

  init(id: EventID, type: String, data: [UInt8], isOwn: Bool = true) {
    self.id = id
    self.type = type
    self.isOwn = isOwn
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

extension ServerEvent {
  private static let picture = #""snapshot":""#

  /// The event of a snapshot with an empty picture, and that of motion without its place; any other as it is.
  fileprivate var withoutPicture: ServerEvent {
    var text = String(buffer: text)
    switch type {
    case "snapshot":
      guard let start = text.firstRange(of: Self.picture)?.upperBound,
        let end = text[start...].firstIndex(of: "\"")
      else { return self }
      text.removeSubrange(start..<end)
    case "motion": for name in MotionEvent.placeMembers { Self.remove(name, from: &text) }
    default: return self
    }
    return ServerEvent(id: id, type: type, isOwn: isOwn, text: ByteBuffer(string: text))
  }

  /// Removes a member of a JSON object whose value is one word, or an array of words.
  private static func remove(_ name: String, from text: inout String) {
    guard let member = text.firstRange(of: "\"\(name)\":") else { return }
    let value = text[member.upperBound...]
    let close = value.first == "[" ? value.firstIndex(of: "]").map(text.index(after:)) : nil
    guard let end = close ?? value.firstIndex(where: { ",}".contains($0) }) else { return }
    let isLast = text[end] == "}"
    // The last one goes with the comma before it, every other with the one after it.
    let hasComma = isLast && text[..<member.lowerBound].last == ","
    let start = hasComma ? text.index(before: member.lowerBound) : member.lowerBound
    text.removeSubrange(start..<(isLast ? end : text.index(after: end)))
  }

  private init(id: EventID, type: String, isOwn: Bool, text: ByteBuffer) {
    (self.id, self.type, self.isOwn, self.text) = (id, type, isOwn, text)
  }
}

/// An event as it was published here.
package struct OwnEvent: Sendable, Hashable {
  package let id: EventID
  package let type: String
  package let data: [UInt8]
}

package struct EventID: Sendable, Hashable {
  /// The run of the service: 16 random hexadecimal digits.
  let epoch: String
  /// From 1.
  let number: Int
}

extension EventID: CustomStringConvertible {
  /// Reads what `description` writes.
  package init?(_ text: String) {
    guard let dash = text.lastIndex(of: "-"), let number = Int(text[text.index(after: dash)...]), number > 0
    else { return nil }
    self.init(epoch: String(text[..<dash]), number: number)
  }

  package var description: String { "\(epoch)-\(number)" }
}

/// The latest events and their subscribers.
///
/// A subscription is a position in the log, not a queue: a slow subscriber costs nothing, and is told the number of
/// events dropped before it read them. The log ends with the service, or with `finish()`.
package final class EventLog: Service {
  private struct State {
    var events: [ServerEvent] = []
    var bytes = 0
    /// The number of the next event.
    var next = 1
    var isFinished = false
    /// The last event that each other node has told here.
    var heard: [String: EventID] = [:]

    /// The number of the oldest event kept.
    var first: Int { next - events.count }

    /// Whether an event of another node was not told here before. A node's events come in order on each way; where there
    /// are two ways, one of them is behind.
    mutating func isNews(_ id: EventID, of node: String) -> Bool {
      if let last = heard[node], last.epoch == id.epoch, last.number >= id.number { return false }
      if heard[node] != nil || heard.count < EventLog.mostNodes { heard[node] = id }
      return true
    }

    /// The next step for a subscriber at `place`, and its next position.
    func step(from place: Int, _ filter: Filter) -> (step: Step, next: Int) {
      guard place >= first else { return (.lost(first - place), first) }
      var place = place
      while place < next {
        let event = events[place - first]
        place += 1
        if filter.passes(event) { return (.event(event), place) }
      }
      return (isFinished ? .end : .nothing, place)
    }
  }

  /// What a subscriber is told.
  struct Filter: Sendable {
    /// Nil for all.
    var types: Set<String>?
    /// Without those of other nodes.
    var isOwnOnly = false

    fileprivate func passes(_ event: ServerEvent) -> Bool {
      (types?.contains(event.type) ?? true) && (event.isOwn || !isOwnOnly)
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
  /// Those who tell other nodes.
  private let followers = Mutex<[AsyncStream<OwnEvent>.Continuation]>([])

  private static let mostNodes = 256

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
    // Followers are told in the order of the numbers.
    followers.withLock { followers in
      let id = state.update { add(type, data, isOwn: true, to: &$0) }
      guard let id else { return }
      for follower in followers { follower.yield(OwnEvent(id: id, type: type, data: data)) }
    }
  }

  /// Publishes an event of another node, unless it has come here before. It is not told to nodes again. `id` is that of the
  /// node's own log; nil if that is not known.
  ///
  /// - Returns: whether it is news.
  @discardableResult
  package func relay(_ event: RelayedEvent, _ id: EventID?, from node: String) -> Bool {
    state.update { state in
      guard id.map({ state.isNews($0, of: node) }) ?? true else { return false }
      add(event.type, event.json(from: node), isOwn: false, to: &state)
      return true
    }
  }

  /// This node's own events from now on. Somebody slow is told of the newest.
  package func own() -> AsyncStream<OwnEvent> {
    let (stream, follower) = AsyncStream.makeStream(of: OwnEvent.self, bufferingPolicy: .bufferingNewest(64))
    followers.withLock { $0.append(follower) }
    return stream
  }

  /// The event's id; nil if the log has ended.
  @discardableResult
  private func add(_ type: String, _ data: [UInt8], isOwn: Bool, to state: inout State) -> EventID? {
    guard !state.isFinished else { return nil }
    // What was shown before may be hidden now.
    if type == "view" || type == "service" { forgetPictures(&state, isOwn: isOwn) }
    let event = ServerEvent(
      id: EventID(epoch: epoch, number: state.next), type: type, data: data, isOwn: isOwn)
    state.next += 1
    state.events.append(event)
    state.bytes += event.text.readableBytes
    trim(&state)
    return event.id
  }

  /// Starts a subscription to the events that `filter` lets through, after the last one that the client knows; nil skips all
  /// past events. If this log never had it, as after a restart, all kept events are new.
  ///
  /// - Throws: a `Problem`: 503 if there are too many subscribers, 429 if this client has too many.
  func subscribe(
    after lastID: String? = nil, _ filter: Filter = Filter()
  ) throws(Problem) -> EventSubscription {
    let permit = try gate.enter()
    let place = state.withLock { state in
      guard let lastID else { return state.next }
      guard let id = EventID(lastID), id.epoch == epoch, id.number < state.next else { return state.first }
      return id.number + 1
    }
    return EventSubscription(self, at: place, filter, holding: permit)
  }

  /// Ends the log. Subscribers end when they have read the rest.
  func finish() { state.update { $0.isFinished = true } }

  var subscriberCount: Int { gate.count }

  package func run() async throws {
    try? await gracefulShutdown()
    finish()
  }

  /// The next step for a subscriber at `place`; `nothing` at `deadline`. `isOver` ends the wait early.
  fileprivate func step(
    from place: Int, _ filter: Filter, until deadline: CaptureInstant, unless isOver: @Sendable () -> Bool
  ) async throws -> (step: Step, next: Int) {
    try await state.first(until: deadline) { state in
      let (step, next) = state.step(from: place, filter)
      if isOver() { return (.end, next) }
      if case .nothing = step { return nil }
      return (step, next)
    } ?? (.nothing, place)
  }

  /// Makes all waiting subscribers check again.
  fileprivate func wake() { state.update { _ in } }

  /// Events that somebody reads later have no pictures from now on.
  private func forgetPictures(_ state: inout State, isOwn: Bool) {
    for place in state.events.indices where state.events[place].isOwn == isOwn {
      state.bytes -= state.events[place].text.readableBytes
      state.events[place] = state.events[place].withoutPicture
      state.bytes += state.events[place].text.readableBytes
    }
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
}

/// A position in a log. The subscriber is counted while this object is held.
final class EventSubscription: Sendable {
  private struct Place {
    var number: Int
    var isOver = false
  }

  private let log: EventLog
  private let permit: AdmissionPermit
  private let filter: EventLog.Filter
  private let place: Mutex<Place>

  fileprivate init(
    _ log: EventLog, at number: Int, _ filter: EventLog.Filter, holding permit: AdmissionPermit
  ) {
    self.log = log
    self.permit = permit
    self.filter = filter
    place = Mutex(Place(number: number))
  }

  /// What a client that has heard nothing yet comes back with, to miss nothing.
  var lastID: String { "\(log.epoch)-\(place.withLock { $0.number } - 1)" }

  /// The next step; `nothing` after `patience`. Must be called from one task at a time.
  func next(within patience: Duration) async -> EventLog.Step {
    let from = place.withLock { $0.number }
    let met = try? await log.step(from: from, filter, until: CaptureClock.now + patience) { [self] in
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
