// What an event says beside its picture, and how that is written as JSON (RFC 8259).

/// A value of JSON.
public enum EventValue: Sendable, Hashable {
  /// Any text.
  case string(String)
  /// A whole number.
  case integer(Int)
  /// Any other number; what is not finite is written as null.
  case number(Double)
  /// True or false.
  case bool(Bool)
  /// Nothing.
  case null
  /// Values in order.
  case array([EventValue])
  /// Values by key, written in the order of their keys.
  case object([String: EventValue])
}

extension EventValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
  ExpressibleByNilLiteral
{
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }

  /// A whole number.
  public init(integerLiteral value: Int) { self = .integer(value) }

  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }

  /// True or false.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Values in order.
  public init(arrayLiteral elements: EventValue...) { self = .array(elements) }

  /// Values by key; of two with one key the last is meant.
  public init(dictionaryLiteral elements: (String, EventValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }

  /// Nothing.
  public init(nilLiteral: ()) { self = .null }
}

/// Writes an object, member after member, in UTF-8.
struct JSONObjectWriter {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]

  mutating func append(_ key: String, _ value: EventValue) {
    appendKey(key)
    append(value)
  }

  /// A text that needs no escapes.
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

  private mutating func append(_ value: EventValue) {
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

  /// Escapes what RFC 8259, 7 says must be, and no more: all else is UTF-8 as it is.
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
