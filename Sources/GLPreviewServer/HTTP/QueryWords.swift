// The words of a URL: each is asked for by name, and what nobody asked for is refused.
internal import GLPreview
internal import Hummingbird

/// The query of a request.
struct QueryWords {
  private var words: [(key: String, value: String)]

  /// What browsers and users add so that nothing is cached, and how players show who they are: no parameter of ours.
  private static let ignored: Set<String> = ["_", "t", "ts", "cb", "cacheBust", "cachebust", "token"]

  /// - Throws: `Problem` where a word is there twice.
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

  /// Takes a word out; nil where it is not there.
  mutating func take(_ keys: String...) -> String? {
    guard let index = words.firstIndex(where: { keys.contains($0.key) }) else { return nil }
    return words.remove(at: index).value
  }

  /// Takes all words of a name out.
  mutating func takeAll(_ key: String) -> [String] {
    defer { words.removeAll { $0.key == key } }
    return words.filter { $0.key == key }.map(\.value)
  }

  /// Takes a whole number out.
  mutating func takeInteger(_ keys: [String], in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let index = words.firstIndex(where: { keys.contains($0.key) }) else { return nil }
    let (key, value) = words.remove(at: index)
    guard let number = Int(value), range.contains(number) else {
      throw .badParameter(
        key, "'\(value)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Takes a number out.
  mutating func takeNumber(_ key: String, in range: ClosedRange<Double>) throws(Problem) -> Double? {
    guard let value = take(key) else { return nil }
    guard let number = Double(value), range.contains(number) else {
      throw .badParameter(key, "'\(value)' is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Takes yes or no out.
  mutating func takeFlag(_ key: String) throws(Problem) -> Bool? {
    guard let value = take(key) else { return nil }
    switch value {
    case "1", "true", "yes", "on", "": return true
    case "0", "false", "no", "off": return false
    default: throw .badParameter(key, "'\(value)' is neither 1 nor 0")
    }
  }

  /// Takes one of a few words out.
  mutating func takeWord<Word: RawRepresentable & CaseIterable>(_ key: String, as: Word.Type)
    throws(Problem) -> Word? where Word.RawValue == String
  {
    guard let value = take(key) else { return nil }
    guard let word = Word(rawValue: value) else {
      throw .badParameter(
        key, "'\(value)' is none of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return word
  }

  /// Takes all words of a view out, over those that `view` has; also how good its JPEGs are to be.
  ///
  /// - Throws: `Problem` for a bad value, and for any word of a view that is locked.
  mutating func takeView(over served: ServedView) throws(Problem) -> ServedView {
    var result = served
    let keys = Set(ViewConfiguration.keys + ["w", "h"])
    for (key, value) in words where keys.contains(key) {
      guard !served.isLocked else {
        throw Problem(
          .forbidden, "view '\(served.view.name)' is locked: it is seen as it is, or not at all",
          parameter: key)
      }
      // A plus sign of a URL that nobody has escaped is a space.
      let value = key == "crop" ? String(value.map { $0 == " " ? "+" : $0 }) : value
      do throws(ViewError) { try result.view.set(key, to: value) } catch {
        throw .badParameter(error.key, error.reason)
      }
    }
    words.removeAll { keys.contains($0.key) }
    if let quality = try takeInteger(["quality", "q"], in: 1...100) { result.quality = quality }
    return result
  }

  /// Refuses what is left.
  ///
  /// - Parameter known: what there is, for who asked for something else.
  /// - Throws: `Problem` 400 that names the first.
  func finish(known: [String]) throws(Problem) {
    guard let key = words.first?.key else { return }
    throw .badParameter(
      key, "there is no parameter '\(key)' here (there are: \(known.joined(separator: ", ")))")
  }
}
