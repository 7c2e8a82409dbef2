// The query parameters of a URL, as `QueryMiddleware` leaves them. Each is taken by name, and those left over are rejected.
package import Hummingbird

/// The query parameters of a request.
package struct QueryWords {
  private var words: [(key: String, value: String)]

  /// - Throws: `Problem` if a parameter is given twice.
  package init(_ request: Request) throws(Problem) {
    words = request.uri.queryParameters.map { (key: String($0.key), value: String($0.value)) }
    for (index, word) in words.enumerated()
    where words[..<index].contains(where: { $0.key == word.key }) && !Self.repeatable.contains(word.key) {
      throw .badParameter(word.key, "'\(word.key)' is given twice")
    }
  }

  private static let repeatable: Set<String> = ["view"]

  package mutating func take(_ key: String) -> String? {
    guard let index = words.firstIndex(where: { $0.key == key }) else { return nil }
    return words.remove(at: index).value
  }

  package mutating func takeAll(_ key: String) -> [String] {
    defer { words.removeAll { $0.key == key } }
    return words.filter { $0.key == key }.map(\.value)
  }

  package mutating func takeInteger(_ keys: String..., in range: ClosedRange<Int>) throws(WordError) -> Int? {
    guard let index = words.firstIndex(where: { keys.contains($0.key) }) else { return nil }
    let (key, text) = words.remove(at: index)
    return try Words.whole(key, text, in: range)
  }

  package mutating func takeNumber(_ key: String, in range: ClosedRange<Double>) throws(WordError) -> Double?
  {
    guard let text = take(key) else { return nil }
    return try Words.number(key, text, in: range)
  }

  /// Takes a flag; without a value it is true.
  package mutating func takeFlag(_ key: String) throws(WordError) -> Bool? {
    guard let text = take(key) else { return nil }
    return text.isEmpty ? true : try Words.flag(key, text)
  }

  package mutating func takeWord<Word: RawRepresentable & CaseIterable>(_ key: String, as: Word.Type)
    throws(WordError) -> Word? where Word.RawValue == String
  {
    guard let text = take(key) else { return nil }
    return try Words.word(key, text, as: Word.self)
  }

  /// Takes all parameters of a view, applied over those of `served`, and the JPEG quality.
  ///
  /// - Throws: `WordError` for a bad value; `Problem` for any parameter of a locked view.
  package mutating func takeView(over served: ServedView) throws -> ServedView {
    var result = served
    let keys = Set(ViewConfiguration.keys + ["w", "h"])
    for (key, value) in words where keys.contains(key) {
      guard !served.isLocked else {
        throw Problem(
          .forbidden, "view '\(served.view.name)' is locked: a URL can't change how it is shown",
          parameter: key)
      }
      // An unescaped plus sign in a URL is decoded as a space.
      let value = key == "crop" ? String(value.map { $0 == " " ? "+" : $0 }) : value
      try result.view.set(key, to: value)
    }
    words.removeAll { keys.contains($0.key) }
    if let quality = try takeInteger("quality", "q", in: 1...100) { result.quality = quality }
    return result
  }

  /// Rejects parameters that are left over, by an error that names the valid ones.
  package func finish(known: [String]) throws(Problem) {
    guard let key = words.first?.key else { return }
    throw .badParameter(
      key, "unknown parameter '\(key)' (there are: \(known.joined(separator: ", ")))")
  }
}
