// An event as it is sent. Its text is made once for all clients.
internal import NIOCore

/// An event of a service.
struct ServerEvent: Sendable, Hashable {
  /// The event types that a client can request.
  static let types = ["camera", "service", "snapshot", "view"]

  /// `EPOCH-N`: the run of the service, and the event's number in it.
  let id: EventID
  /// One of `types`.
  let type: String
  /// As server-sent events require (HTML Standard, 9.2): `id`, `event` and `data`.
  let text: ByteBuffer

  init(id: EventID, type: String, data: [UInt8]) {
    self.id = id
    self.type = type
    text = Self.text(id: id, type: type, data: data)
  }

  private static func text(id: EventID, type: String, data: [UInt8]) -> ByteBuffer {
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
    return text
  }
}

/// The identity of an event.
struct EventID: Sendable, Hashable, CustomStringConvertible {
  /// The run of the service: 16 random hexadecimal digits.
  let epoch: String
  /// From 1.
  let number: Int

  init(epoch: String, number: Int) {
    self.epoch = epoch
    self.number = number
  }

  /// Reads what `description` writes.
  init?(_ text: String) {
    guard let dash = text.lastIndex(of: "-"), let number = Int(text[text.index(after: dash)...]), number > 0
    else { return nil }
    self.init(epoch: String(text[..<dash]), number: number)
  }

  var description: String { "\(epoch)-\(number)" }
}
