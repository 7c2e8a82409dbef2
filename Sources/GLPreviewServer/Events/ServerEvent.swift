// Something that happened, as it is told: its text is made once, however many are told.
internal import NIOCore

/// An event of a service.
struct ServerEvent: Sendable, Hashable {
  /// What is told of: those that a client may ask for.
  static let types = ["camera", "service", "snapshot", "view"]

  /// `EPOCH-N`: which life of the service it is of, and which of that life's.
  let id: EventID
  /// One of `types`.
  let type: String
  /// As server-sent events have it (HTML Standard, 9.2): `id`, `event` and `data`.
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
    // A line of data ends at CR, LF or both, so each line is a field of its own.
    for line in data.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      text.writeString("data: ")
      text.writeBytes(line)
      text.writeString("\n")
    }
    text.writeString("\n")
    return text
  }
}

/// Which event it is.
struct EventID: Sendable, Hashable, CustomStringConvertible {
  /// The service's life: 16 hexadecimal digits, drawn when it starts.
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
