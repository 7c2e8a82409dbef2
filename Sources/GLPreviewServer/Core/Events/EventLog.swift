// The log of recent events. Each subscriber reads it at its own pace, and gets the number of events that it
// missed.
internal import HTTPTypes
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

struct ServerEvent: Sendable, Hashable {
  /// The event types that a client can request.
  static let types = ["camera", "motion", "move", "recording", "schedule", "service", "snapshot", "view"]

  /// `EPOCH-N`: the run of the service, and the event's number in it.
  let id: EventID
  let type: String
  /// Whether this node published it.
  let isOwn: Bool
  /// The text of a server-sent event (HTML Standard, 9.2): `id`, `event` and `data`.
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

  /// A snapshot event without its picture, or a motion event without its location; other events unchanged.
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

  /// Removes a member of a JSON object, whose value is a scalar, or an array of scalars.
  private static func remove(_ name: String, from text: inout String) {
    guard let member = text.firstRange(of: "\"\(name)\":") else { return }
    let value = text[member.upperBound...]
    let close = value.first == "[" ? value.firstIndex(of: "]").map(text.index(after:)) : nil
    guard let end = close ?? value.firstIndex(where: { ",}".contains($0) }) else { return }
    let isLast = text[end] == "}"
    // The last member is removed with the comma before it, any other with the comma after it.
    let hasComma = isLast && text[..<member.lowerBound].last == ","
    let start = hasComma ? text.index(before: member.lowerBound) : member.lowerBound
    text.removeSubrange(start..<(isLast ? end : text.index(after: end)))
  }

  private init(id: EventID, type: String, isOwn: Bool, text: ByteBuffer) {
    (self.id, self.type, self.isOwn, self.text) = (id, type, isOwn, text)
  }
}

/// An event as this node published it.
package struct OwnEvent: Sendable, Hashable {
  package let id: EventID
  package let type: String
  /// A JSON object.
  package let data: [UInt8]
  /// A link to its picture, for receivers that the configuration names; nil if there is none.
  var link: String?

  /// The event with its link.
  package var linkedData: [UInt8] {
    guard let link else { return data }
    let member = [EventLinks.member: JSONValue.string(link)].json
    return member.dropLast() + [UInt8(ascii: ",")] + data.dropFirst()
  }
}

package struct EventID: Sendable, Hashable {
  /// The run of the service: 16 random hexadecimal digits.
  let epoch: String
  /// The number of the event, from 1.
  let number: Int
}

extension EventID: CustomStringConvertible {
  /// Parses the text of `description`; nil for any other text.
  package init?(_ text: String) {
    guard let dash = text.lastIndex(of: "-"), let number = Int(text[text.index(after: dash)...]), number > 0
    else { return nil }
    self.init(epoch: String(text[..<dash]), number: number)
  }

  package var description: String { "\(epoch)-\(number)" }
}

/// The latest events and their subscribers.
///
/// A subscription is a position in the log, not a queue: a slow subscriber costs nothing, and gets the number
/// of events that were dropped before it read them. The log ends with the service, or with `finish()`.
package final class EventLog: Service {
  private struct State {
    var events: [ServerEvent] = []
    var bytes = 0
    /// The number of the next event.
    var next = 1
    var isFinished = false
    /// The last event received from each other node.
    var received: [String: EventID] = [:]

    /// The number of the oldest event in the log.
    var first: Int { next - events.count }

    /// Returns whether an event of another node has not been received before. Each path delivers a node's
    /// events in order; if there are two paths, one of them is behind.
    mutating func isNew(_ id: EventID, of node: String) -> Bool {
      if let last = received[node], last.epoch == id.epoch, last.number >= id.number { return false }
      if received[node] != nil || received.count < EventLog.mostNodes { received[node] = id }
      return true
    }

    /// Returns the next step for a subscriber at `place`, and its next position.
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

  /// The events that a subscriber receives.
  struct Filter: Sendable {
    /// The event types; nil for all.
    var types: Set<String>?
    /// Whether events of other nodes are omitted.
    var isOwnOnly = false

    fileprivate func passes(_ event: ServerEvent) -> Bool {
      (types?.contains(event.type) ?? true) && (event.isOwn || !isOwnOnly)
    }
  }

  /// The next result for a subscriber.
  enum Step: Sendable {
    case event(ServerEvent)
    /// The number of events, of all types, that were dropped before they were read.
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
  /// The subscribers that send this node's own events to other nodes.
  private let followers = Mutex<[AsyncStream<OwnEvent>.Continuation]>([])

  private static let mostNodes = 256

  /// Keeps at most `capacity` events, and `maximumBytes` of their texts; the last event is always kept.
  init(
    capacity: Int = 256, maximumBytes: Int = 8 << 20, maximumSubscribers: Int = 256, epoch: String? = nil
  ) {
    self.capacity = max(1, capacity)
    self.maximumBytes = maximumBytes
    gate = AdmissionLimit(capacity: maximumSubscribers, subject: "event connections", retryAfter: 10)
    self.epoch = epoch ?? String(UInt64.random(in: (1 << 60)...UInt64.max), radix: 16)
  }

  /// Publishes JSON as an event of one of `ServerEvent.types`, unless the log has ended.
  func publish(type: String, data: [UInt8], link: String? = nil) {
    // Followers receive the events in the order of their numbers.
    followers.withLock { followers in
      let id = state.update { add(type, data, isOwn: true, to: &$0) }
      guard let id else { return }
      for follower in followers { follower.yield(OwnEvent(id: id, type: type, data: data, link: link)) }
    }
  }

  /// Publishes an event of another node, unless it was received before. It is not sent to other nodes. `id`
  /// is its ID in that node's own log; nil if that is not known.
  ///
  /// - Returns: whether the event is new.
  @discardableResult
  package func relay(_ event: RelayedEvent, _ id: EventID?, from node: String) -> Bool {
    state.update { state in
      guard id.map({ state.isNew($0, of: node) }) ?? true else { return false }
      add(event.type, event.json(from: node), isOwn: false, to: &state)
      return true
    }
  }

  /// Returns this node's own events from now on. A slow subscriber receives only the newest ones.
  package func own() -> AsyncStream<OwnEvent> {
    let (stream, follower) = AsyncStream.makeStream(of: OwnEvent.self, bufferingPolicy: .bufferingNewest(64))
    followers.withLock { $0.append(follower) }
    return stream
  }

  /// Adds an event, and returns its ID; nil if the log has ended.
  @discardableResult
  private func add(_ type: String, _ data: [UInt8], isOwn: Bool, to state: inout State) -> EventID? {
    guard !state.isFinished else { return nil }
    // Earlier pictures may show parts that are hidden now.
    if type == "view" || type == "service" { forgetPictures(&state, isOwn: isOwn) }
    let event = ServerEvent(
      id: EventID(epoch: epoch, number: state.next), type: type, data: data, isOwn: isOwn)
    state.next += 1
    state.events.append(event)
    state.bytes += event.text.readableBytes
    trim(&state)
    return event.id
  }

  /// Starts a subscription to the events that pass `filter`, after the last one that the client knows; nil
  /// skips all past events. If this log never had that event, as after a restart, all events in the log are
  /// new.
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

  /// Ends the log. Subscriptions end after the remaining events.
  func finish() { state.update { $0.isFinished = true } }

  var subscriberCount: Int { gate.count }

  package func run() async throws {
    try? await gracefulShutdown()
    finish()
  }

  /// Returns the next step for a subscriber at `place`; `nothing` at `deadline`. `isOver` ends the wait
  /// early.
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

  /// Removes the pictures of past events for later readers.
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

/// A position in a log. The subscriber counts as connected while this object is held.
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

  /// The ID for a client that has received no event yet, so that it misses none after a reconnection.
  var lastID: String { "\(log.epoch)-\(place.withLock { $0.number } - 1)" }

  /// Returns the next step; `nothing` after `timeout`. Must be called from one task at a time.
  func next(within timeout: Duration) async -> EventLog.Step {
    let from = place.withLock { $0.number }
    let met = try? await log.step(from: from, filter, until: CaptureClock.now + timeout) { [self] in
      place.withLock { $0.isOver }
    }
    guard let met else { return .end }
    place.withLock { $0.number = met.next }
    return met.step
  }

  /// Ends the subscription; called from a task other than the reading one.
  func end() {
    place.withLock { $0.isOver = true }
    log.wake()
  }
}
