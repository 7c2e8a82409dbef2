// A URL parameter, declared once: its parser and its documentation.

/// The documentation of a parameter.
package struct QueryEntry: Sendable, Hashable {
  package let name: String
  package let schema: JSONSchema
  package let purpose: String
  /// Whether it may be given several times.
  var isRepeatable = false
  var isRequired = false

  package init(_ name: String, _ schema: JSONSchema, _ purpose: String) {
    (self.name, self.schema, self.purpose) = (name, schema, purpose)
  }

  func json(_ named: inout [String: JSONValue]) -> JSONValue {
    let value: JSONSchema = isRepeatable ? .list(of: schema) : schema
    return [
      "name": .string(name), "in": "query", "required": .bool(isRequired), "description": .string(purpose),
      "schema": value.json(&named),
    ]
  }
}

/// A URL parameter that is parsed to a `Value`.
package struct QueryKey<Value: Sendable>: Sendable {
  package typealias Parse = @Sendable (_ name: String, _ text: String) throws(ParameterError) -> Value

  package private(set) var entry: QueryEntry
  /// The name, and an optional short form.
  let names: [String]
  let parse: Parse

  /// Creates a parameter that `parse` reads. `usual` is its documented default; nil if the default depends on
  /// other settings.
  package init(
    _ name: String, or alias: String? = nil, _ schema: JSONSchema, usual: JSONValue? = nil, _ purpose: String,
    parse: @escaping Parse
  ) {
    entry = QueryEntry(name, schema.with(usual: usual), purpose)
    names = [name] + (alias.map { [$0] } ?? [])
    self.parse = parse
  }

  /// The key with documentation that allows it several times in a URL.
  package var repeatable: QueryKey {
    var key = self
    key.entry.isRepeatable = true
    return key
  }

  package var required: QueryKey {
    var key = self
    key.entry.isRequired = true
    return key
  }
}

extension QueryKey<Int> {
  package static func integer(
    _ name: String, or alias: String? = nil, in range: ClosedRange<Int>, usual: Int? = nil, _ purpose: String
  ) -> QueryKey {
    QueryKey(name, or: alias, .integer(in: range), usual: usual.map(JSONValue.integer), purpose) {
      name, text throws(ParameterError) in try ParameterParser.whole(name, text, in: range)
    }
  }
}

extension QueryKey<Double> {
  package static func number(
    _ name: String, in range: ClosedRange<Double>, usual: Double? = nil, _ purpose: String
  ) -> QueryKey {
    QueryKey(name, .number(in: range), usual: usual.map(JSONValue.number), purpose) {
      name, text throws(ParameterError) in try ParameterParser.number(name, text, in: range)
    }
  }
}

extension QueryKey<Bool> {
  /// A flag; a parameter without a value means true.
  package static func flag(_ name: String, usual: Bool = false, _ purpose: String) -> QueryKey {
    QueryKey(name, .boolean, usual: .bool(usual), purpose) { name, text throws(ParameterError) in
      text.isEmpty ? true : try ParameterParser.flag(name, text)
    }
  }
}

extension QueryKey<String> {
  package static func text(_ name: String, as schema: JSONSchema = .text, _ purpose: String) -> QueryKey {
    QueryKey(name, schema, purpose) { $1 }
  }
}

extension QueryKey where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// A choice of the raw values of `Value`.
  package static func choice(_ name: String, usual: Value? = nil, _ purpose: String) -> QueryKey {
    QueryKey(name, .choice(Value.self), usual: usual.map { .string($0.rawValue) }, purpose) {
      name, text throws(ParameterError) in try ParameterParser.choice(name, text, as: Value.self)
    }
  }
}

extension [QueryEntry] {
  /// Returns the entries of `key`.
  package static func of<each Value: Sendable>(_ key: repeat QueryKey<each Value>) -> [QueryEntry] {
    var entries: [QueryEntry] = []
    for key in repeat each key { entries.append(key.entry) }
    return entries
  }

  package var names: [String] { map(\.name) }
}
