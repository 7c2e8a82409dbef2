// The values of an event's metadata, and their encoding as JSON (RFC 8259).

/// A JSON value.
public enum EventValue: Sendable, Hashable {
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
  case array([EventValue])
  /// An object, written in the order of its keys.
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

  /// An array.
  public init(arrayLiteral elements: EventValue...) { self = .array(elements) }

  /// An object; of two values with one key, the last counts.
  public init(dictionaryLiteral elements: (String, EventValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }

  /// Null.
  public init(nilLiteral: ()) { self = .null }
}

extension EventValue: Encodable {
  /// Encodes the plain value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .string(let text): try container.encode(text)
    case .integer(let number): try container.encode(number)
    case .number(let number) where number.isFinite: try container.encode(number)
    case .bool(let isTrue): try container.encode(isTrue)
    case .number, .null: try container.encodeNil()
    case .array(let values): try container.encode(values)
    case .object(let members): try container.encode(members)
    }
  }
}
