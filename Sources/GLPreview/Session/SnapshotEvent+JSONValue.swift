// The values of an event's metadata, and their encoding as JSON (RFC 8259).

extension SnapshotEvent {
  /// A JSON value.
  public enum JSONValue: Sendable, Hashable {
    /// Text.
    case string(String)
    /// A whole number.
    case integer(Int)
    /// Any other number; infinities and NaN are written as null.
    case number(Double)
    /// True or false.
    case bool(Bool)
    /// Null.
    case null
    /// An array.
    case array([JSONValue])
    /// An object, written in the order of its keys.
    case object([String: JSONValue])
  }
}

extension SnapshotEvent.JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }

  /// A whole number.
  public init(integerLiteral value: Int) { self = .integer(value) }

  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }

  /// True or false.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// An array.
  public init(arrayLiteral elements: SnapshotEvent.JSONValue...) { self = .array(elements) }

  /// An object; of two values with one key, the last counts.
  public init(dictionaryLiteral elements: (String, SnapshotEvent.JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }

  /// Null.
  public init(nilLiteral: ()) { self = .null }
}

/// Writes an object member by member, in UTF-8.
struct JSONObjectWriter {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]

  mutating func append(_ key: String, _ value: SnapshotEvent.JSONValue) {
    appendKey(key)
    append(value)
  }

  /// Appends a text that needs no escapes.
  mutating func append(_ key: String, ascii text: [UInt8]) {
    appendKey(key)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: text)
    bytes.append(UInt8(ascii: "\""))
  }

  consuming func finished() -> [UInt8] { bytes + [UInt8(ascii: "}")] }

  private mutating func appendKey(_ key: String) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    append(text: key)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func append(_ value: SnapshotEvent.JSONValue) {
    switch value {
    case .string(let text): append(text: text)
    case .integer(let number): bytes.append(contentsOf: "\(number)".utf8)
    case .number(let number): bytes.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
    case .bool(let isTrue): bytes.append(contentsOf: (isTrue ? "true" : "false").utf8)
    case .null: bytes.append(contentsOf: "null".utf8)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(value)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      var writer = JSONObjectWriter()
      for (key, value) in members.sorted(by: { $0.key < $1.key }) { writer.append(key, value) }
      bytes.append(contentsOf: writer.finished())
    }
  }

  /// Escapes only what RFC 8259, section 7 requires; everything else is UTF-8.
  private mutating func append(text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
      case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
      case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        bytes.append(contentsOf: (byte < 16 ? "\\u000" : "\\u00").utf8)
        bytes.append(contentsOf: digits.utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
