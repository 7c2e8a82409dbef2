// The query parameters of a URL, as `QueryMiddleware` passes them on. Each is taken by name; remaining ones
// are rejected.
package import Hummingbird

/// The query parameters of a request.
package struct QueryParameters {
  private var items: [(key: String, value: String)]

  /// - Throws: `Problem` if a parameter that is not repeatable is given twice.
  package init(_ request: Request) throws(Problem) {
    items = request.uri.queryParameters.map { (key: String($0.key), value: String($0.value)) }
    for (index, item) in items.enumerated()
    where items[..<index].contains(where: { $0.key == item.key }) && !Self.repeatable.contains(item.key) {
      throw .badParameter(item.key, "'\(item.key)' is given twice")
    }
  }

  private static let repeatable: Set<String> = ["view"]
  /// The parameters that set a part of a view's pose.
  private static let posing = Set(PoseChange.keys + ["projection", "lens"])

  package mutating func takeAll(_ key: QueryKey<String>) -> [String] {
    defer { items.removeAll { $0.key == key.entry.name } }
    return items.filter { $0.key == key.entry.name }.map(\.value)
  }

  /// Takes the value of a parameter; nil if it is missing.
  package mutating func take<Value>(_ key: QueryKey<Value>) throws(ParameterError) -> Value? {
    guard let index = items.firstIndex(where: { key.names.contains($0.key) }) else { return nil }
    let (name, text) = items.remove(at: index)
    return try key.parse(name, text)
  }

  /// Takes all parameters of a view, and the quality, and returns `served` with these changes.
  ///
  /// - Throws: `ParameterError` for a bad value; `Problem` for any parameter of a locked view.
  package mutating func takeView(over served: ServedView) throws -> ServedView {
    var result = served
    let keys = Set(ViewConfiguration.keys + ["w", "h"])
    for (key, value) in items where keys.contains(key) {
      guard !served.isLocked else {
        throw Problem(
          .forbidden, "view '\(served.view.name)' is locked: a URL can't change how it is shown",
          parameter: key)
      }
      // Some clients write a plus sign as a space.
      let value = key == "crop" ? String(value.map { $0 == " " ? "+" : $0 }) : value
      try result.view.set(key, to: value)
      if Self.posing.contains(key) { result.setsPose = true }
    }
    if result.view.projection == nil { result.setsPose = false }
    items.removeAll { keys.contains($0.key) }
    if let quality = try take(QueryEntry.quality) { result.quality = quality }
    return result
  }

  /// Rejects remaining parameters with an error that names the valid ones.
  package func finish(known: [QueryEntry]) throws(Problem) {
    guard let key = items.first?.key else { return }
    throw .badParameter(
      key, "unknown parameter '\(key)' (known: \(known.names.joined(separator: ", ")))")
  }
}
