// Headers of a message: "NATS/1.0", an optional status from the server, and fields. A name may have several
// values.
package import NIOCore

/// Headers of a message. Names are case-sensitive and keep their order.
package struct NATSHeaders: Equatable, Sendable, ExpressibleByDictionaryLiteral {
  /// One line.
  package struct Field: Equatable, Sendable {
    /// The name: printable ASCII without a colon.
    package let name: String
    /// The value: any text without line breaks. Leading and trailing spaces are not preserved.
    package let value: String
  }

  /// The fields in order.
  package private(set) var fields: [Field] = []
  /// A server's status, such as 503 for "no responders" or 404 for "not found". Nil for messages from
  /// clients.
  package private(set) var status: Int?
  /// The text after the status; may be empty.
  package private(set) var statusText = ""

  private static let version = "NATS/1.0"

  /// Creates empty headers.
  package init() {}

  /// Creates one field for each pair.
  package init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }

  /// Whether there is nothing to send.
  package var isEmpty: Bool { fields.isEmpty && status == nil }

  /// The first value of a name. Setting it replaces all values; nil removes them.
  package subscript(name: String) -> String? {
    get { fields.first { $0.name == name }?.value }
    set {
      fields.removeAll { $0.name == name }
      if let newValue { add(newValue, for: name) }
    }
  }

  /// Returns all values of a name in order.
  package func values(for name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

  /// Adds a value after the existing values of the name.
  package mutating func add(_ value: String, for name: String) {
    fields.append(Field(name: name, value: value))
  }

  /// The number of bytes that `write` writes; 0 if there are no headers.
  var encodedCount: Int {
    isEmpty
      ? 0
      : Self.version.utf8.count + 4 + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
  }

  /// Writes the header lines and the empty line that ends them.
  ///
  /// - Throws: `NATSError.invalidHeader` if a name or a value would break its line. Nothing is written then.
  package func write(into buffer: inout ByteBuffer) throws(NATSError) {
    for field in fields {
      let isName = field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      guard isName, !field.name.isEmpty else { throw .invalidHeader(field.name) }
      guard field.value.utf8.allSatisfy({ $0 != 0x0D && $0 != 0x0A && $0 != 0 }) else {
        throw .invalidHeader(field.name)
      }
    }
    buffer.writeString(Self.version + "\r\n")
    for field in fields { buffer.writeString("\(field.name): \(field.value)\r\n") }
    buffer.writeString("\r\n")
  }

  /// Parses the format of `write`, with or without a status. Nil if the bytes are not headers.
  package init?(_ bytes: some BidirectionalCollection<UInt8>) {
    let ending = Array("\r\n\r\n".utf8)
    guard bytes.count >= ending.count, bytes.suffix(ending.count).elementsEqual(ending) else { return nil }
    var lines = bytes.dropLast(ending.count).split(separator: 0x0A, omittingEmptySubsequences: false)
      .makeIterator()
    guard let first = lines.next().map({ Self.text($0) }), first.hasPrefix(Self.version) else { return nil }
    let words = first.dropFirst(Self.version.count)
    guard words.isEmpty || words.hasPrefix(" ") else { return nil }
    let parts = words.split(separator: " ", maxSplits: 1)
    if let code = parts.first {
      guard code.utf8.count == 3, let status = Int(code), status >= 100 else { return nil }
      self.status = status
      if parts.count > 1 { statusText = String(parts[1]) }
    }
    while let line = lines.next() {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
      add(Self.text(line[line.index(after: colon)...]), for: Self.text(line[..<colon]))
    }
  }

  /// Trims spaces, tabs and carriage returns. Invalid UTF-8 is replaced.
  private static func text(_ bytes: some BidirectionalCollection<UInt8>) -> String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    guard let start = bytes.firstIndex(where: { !isBlank($0) }),
      let end = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(decoding: bytes[start...end], as: UTF8.self)
  }
}
