// The subset of JSON Schema (2020-12) that the description of the API needs.

/// The schema of a JSON value in a request or an answer.
package indirect enum JSONSchema: Sendable, Hashable {
  /// A schema with these keywords.
  case keywords([String: JSONValue])
  case list(of: JSONSchema)
  /// An object; if `isClosed`, no other members are allowed.
  case object([JSONMember], isClosed: Bool = false)
  /// An object whose keys are not known in advance and whose values have one schema.
  case names(JSONSchema)
  case either(JSONSchema, JSONSchema)
  /// A schema that is listed once in the description, under this name.
  case named(String, JSONSchema)

  /// Returns the JSON of the schema. Named schemas are added to `named` and referenced.
  func json(_ named: inout [String: JSONValue]) -> JSONValue {
    switch self {
    case .keywords(let keywords): return .object(keywords)
    case .list(let item): return ["type": "array", "items": item.json(&named)]
    case .names(let value): return ["type": "object", "additionalProperties": value.json(&named)]
    case .either(let one, let other): return ["anyOf": [one.json(&named), other.json(&named)]]
    case .named(let name, let schema):
      if named[name] == nil {
        // The schema may refer to itself.
        named[name] = .null
        named[name] = schema.json(&named)
      }
      return ["$ref": .string("#/components/schemas/\(name)")]
    case .object(let members, let isClosed):
      var properties: [String: JSONValue] = [:]
      for member in members { properties[member.name] = member.json(&named) }
      var json: [String: JSONValue] = ["type": "object", "properties": .object(properties)]
      let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
      if !required.isEmpty { json["required"] = .array(required) }
      if isClosed { json["additionalProperties"] = false }
      return .object(json)
    }
  }
}

/// A member of an object.
package struct JSONMember: Sendable, Hashable {
  package let name: String
  package let schema: JSONSchema
  package let purpose: String
  var isRequired = true

  package init(_ name: String, _ schema: JSONSchema, _ purpose: String = "") {
    (self.name, self.schema, self.purpose) = (name, schema, purpose)
  }

  /// Creates a member that may be missing.
  package static func optional(_ name: String, _ schema: JSONSchema, _ purpose: String = "") -> JSONMember {
    var member = JSONMember(name, schema, purpose)
    member.isRequired = false
    return member
  }

  fileprivate func json(_ named: inout [String: JSONValue]) -> JSONValue {
    guard case .object(var json) = schema.json(&named), !purpose.isEmpty else { return schema.json(&named) }
    json["description"] = .string(purpose)
    return .object(json)
  }
}

extension JSONSchema {
  package static let text = JSONSchema.keywords(["type": "string"])
  package static let boolean = JSONSchema.keywords(["type": "boolean"])
  package static let number = JSONSchema.keywords(["type": "number"])
  package static let integer = JSONSchema.keywords(["type": "integer"])
  /// A time such as `2026-01-31T12:00:00.000Z`.
  package static let time = JSONSchema.keywords(["type": "string", "format": "date-time"])
  /// A path of this service.
  package static let path = JSONSchema.keywords(["type": "string", "format": "uri-reference"])

  package static func text(pattern: String) -> JSONSchema {
    .keywords(["type": "string", "pattern": .string(pattern)])
  }

  package static func integer(in range: ClosedRange<Int>) -> JSONSchema {
    .keywords([
      "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
    ])
  }

  package static func number(in range: ClosedRange<Double>) -> JSONSchema {
    .keywords([
      "type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound),
    ])
  }

  /// One of the raw values of `Word`.
  package static func choice<Word: RawRepresentable & CaseIterable>(_: Word.Type) -> JSONSchema
  where Word.RawValue == String { choice(Word.allCases.map(\.rawValue)) }

  package static func choice(_ words: [String]) -> JSONSchema {
    .keywords(["type": "string", "enum": .array(words.map(JSONValue.string))])
  }

  /// The schema, or null.
  package var orNull: JSONSchema {
    guard case .keywords(var keywords) = self, let type = keywords["type"] else { return self }
    keywords["type"] = [type, "null"]
    if case .array(let words)? = keywords["enum"] { keywords["enum"] = .array(words + [.null]) }
    return .keywords(keywords)
  }

  /// Returns the schema with a default value, for a URL parameter.
  func with(usual: JSONValue?) -> JSONSchema {
    guard let usual, case .keywords(var keywords) = self else { return self }
    keywords["default"] = usual
    return .keywords(keywords)
  }
}
