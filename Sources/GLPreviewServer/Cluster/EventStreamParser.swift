// Parses a peer's answer to `GET /api/events` incrementally: server-sent events (HTML Standard, 9.2.6) of
// limited length.

struct EventStreamParser {
  struct Message: Sendable, Hashable {
    /// Nil without an id, or with one that is not this service's format.
    var id: EventID?
    var type = ""
    var data: [UInt8] = []
  }

  /// The value to send as `Last-Event-ID`; nil if no id is known yet.
  private(set) var lastID: String?
  /// The number of messages dropped because they were too long.
  private(set) var droppedCount = 0

  private var line: [UInt8] = []
  private var isLineTooLong = false
  private var message = Message()
  private var id: String?
  private var isTooLong = false

  /// The longest event and the name of its field.
  private static let longestLine = RelayedEvent.longest + 16
  private static let longestID = 64

  init(after lastID: String? = nil) { self.lastID = lastID }

  /// Takes the next bytes, and returns the messages that they complete.
  mutating func read(_ bytes: some Collection<UInt8>) -> [Message] {
    var messages: [Message] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 0x0A) {
      take(rest[..<end])
      rest = rest[rest.index(after: end)...]
      if let message = endLine() { messages.append(message) }
    }
    take(rest)
    return messages
  }

  private mutating func take(_ bytes: some Collection<UInt8>) {
    guard !isLineTooLong, line.count + bytes.count <= Self.longestLine else {
      isLineTooLong = true
      line = []
      return
    }
    line += bytes
  }

  /// The message that this line completes; nil unless the line is empty.
  private mutating func endLine() -> Message? {
    defer { (line, isLineTooLong) = ([], false) }
    if isLineTooLong {
      isTooLong = true
      return nil
    }
    if line.last == 0x0D { line.removeLast() }
    guard line.isEmpty else {
      field()
      return nil
    }
    defer { (message, id, isTooLong) = (Message(), nil, false) }
    // An id counts even if its message has no data or is dropped.
    if let id { lastID = id }
    guard !isTooLong else {
      droppedCount += 1
      return nil
    }
    return message.data.isEmpty ? nil : message
  }

  private mutating func field() {
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "id":
      guard (1...Self.longestID).contains(value.count), value.allSatisfy(Self.isOfID) else { return }
      let text = String(decoding: value, as: UTF8.self)
      (id, message.id) = (text, EventID(text))
    case "event": message.type = String(decoding: value, as: UTF8.self)
    case "data":
      guard message.data.count + value.count < RelayedEvent.longest else {
        isTooLong = true
        return
      }
      if !message.data.isEmpty { message.data.append(0x0A) }
      message.data += value
    default: break
    }
  }

  /// Restricted because the id is sent back in a header field.
  private static func isOfID(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }
}
