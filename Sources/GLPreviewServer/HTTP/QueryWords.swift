// The query parameters of a URL. Each is taken by name, and those left over are rejected.
internal import GLPreview
internal import Hummingbird

/// The query parameters of a request.
struct QueryWords {
  private var words: [(key: String, value: String)]

  /// Parameters that clients add to bypass caches or to authenticate; ignored here.
  private static let ignored: Set<String> = ["_", "t", "ts", "cb", "cacheBust", "cachebust", "token"]

  /// - Throws: `Problem` if a parameter is given twice.
  init(_ request: Request) throws(Problem) {
    self.init(request.uri.queryParameters.map { (String($0.key), String($0.value)) })
    for (index, word) in words.enumerated()
    where words[..<index].contains(where: { $0.key == word.key }) && !Self.repeatable.contains(word.key) {
      throw .badParameter(word.key, "'\(word.key)' is given twice")
    }
  }

  private init(_ words: [(key: String, value: String)]) {
    self.words = words.filter { !Self.ignored.contains($0.key) }
  }

  private static let repeatable: Set<String> = ["view"]

  /// Takes a parameter; nil if it is missing.
  mutating func take(_ keys: String...) -> String? {
    guard let index = words.firstIndex(where: { keys.contains($0.key) }) else { return nil }
    return words.remove(at: index).value
  }

  /// Takes all parameters of this name.
  mutating func takeAll(_ key: String) -> [String] {
    defer { words.removeAll { $0.key == key } }
    return words.filter { $0.key == key }.map(\.value)
  }

  /// Takes an integer.
  mutating func takeInteger(_ keys: [String], in range: ClosedRange<Int>) throws(Problem) -> Int? {
    try take(keys) { key, text throws(WordError) in try Words.whole(key, text, in: range) }
  }

  /// Takes a number.
  mutating func takeNumber(_ key: String, in range: ClosedRange<Double>) throws(Problem) -> Double? {
    try take([key]) { key, text throws(WordError) in try Words.number(key, text, in: range) }
  }

  /// Takes a flag; without a value it is true.
  mutating func takeFlag(_ key: String) throws(Problem) -> Bool? {
    try take([key]) { key, text throws(WordError) in text.isEmpty ? true : try Words.flag(key, text) }
  }

  /// Takes one of a few words.
  mutating func takeWord<Word: RawRepresentable & CaseIterable>(_ key: String, as: Word.Type)
    throws(Problem) -> Word? where Word.RawValue == String
  {
    try take([key]) { key, text throws(WordError) in try Words.word(key, text, as: Word.self) }
  }

  private mutating func take<Value>(
    _ keys: [String], _ read: (String, String) throws(WordError) -> Value
  ) throws(Problem) -> Value? {
    guard let index = words.firstIndex(where: { keys.contains($0.key) }) else { return nil }
    let (key, text) = words.remove(at: index)
    do throws(WordError) { return try read(key, text) } catch { throw .badParameter(error.key, error.reason) }
  }

  /// Takes all parameters of a view, applied over those of `served`, and the JPEG quality.
  ///
  /// - Throws: `Problem` for a bad value, and for any parameter of a locked view.
  mutating func takeView(over served: ServedView) throws(Problem) -> ServedView {
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
      do throws(WordError) { try result.view.set(key, to: value) } catch {
        throw .badParameter(error.key, error.reason)
      }
    }
    words.removeAll { keys.contains($0.key) }
    if let quality = try takeInteger(["quality", "q"], in: 1...100) { result.quality = quality }
    return result
  }

  /// Rejects parameters that are left over.
  ///
  /// - Parameter known: the valid parameters, for the error message.
  /// - Throws: `Problem` 400 that names the first one.
  func finish(known: [String]) throws(Problem) {
    guard let key = words.first?.key else { return }
    throw .badParameter(
      key, "unknown parameter '\(key)' (there are: \(known.joined(separator: ", ")))")
  }
}
