// A scalar in a JSON request body.

/// A scalar value in a JSON object: a string, number, boolean or null.
package enum JSONScalar: Decodable, CustomStringConvertible {
  case text(String)
  case number(Double)
  case bool(Bool)
  case null

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  package var number: Double? {
    switch self {
    case .number(let number): number
    case .text(let text): Double(text)
    case .bool, .null: nil
    }
  }

  package var description: String {
    switch self {
    case .text(let text): text
    case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
    case .bool(let isTrue): "\(isTrue)"
    case .null: "null"
    }
  }
}
