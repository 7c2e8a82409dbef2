// JSON values, and their encoding (RFC 8259): an event's metadata, and the service's answers.

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

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
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
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// An object; of two values with one key, the last counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }

  /// Null.
  public init(nilLiteral: ()) { self = .null }
}

extension JSONValue {
  /// The times as seconds since 1970.
  package init(_ times: ClosedRange<WallTime>) {
    self = [
      "from": .number(times.lowerBound.secondsSinceEpoch), "to": .number(times.upperBound.secondsSinceEpoch),
    ]
  }
}

extension [String: JSONValue] {
  /// An object of these members, in the order of their keys.
  package var json: [UInt8] {
    var writer = JSONObjectWriter()
    for (key, value) in sorted(by: { $0.key < $1.key }) { writer.append(key, value) }
    return writer.finished()
  }
}

extension String {
  /// The text as a JSON string (RFC 8259). All control characters are escaped, so that it can break neither a
  /// line nor a terminal.
  package var quotedAsJSON: String {
    var quoted = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where scalar.properties.generalCategory == .control:
        quoted += "\\u" + scalar.value.digits(4, radix: 16)
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

/// Writes an object member by member, in UTF-8.
struct JSONObjectWriter {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]

  mutating func append(_ key: String, _ value: JSONValue) {
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
    bytes.append(contentsOf: key.quotedAsJSON.utf8)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func append(_ value: JSONValue) {
    switch value {
    case .string(let text): bytes.append(contentsOf: text.quotedAsJSON.utf8)
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
    case .object(let members): bytes.append(contentsOf: members.json)
    }
  }
}
