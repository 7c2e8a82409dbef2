// Expands `${NAME}` and `${NAME:default}` in words of files. Other camera servers use the same syntax.
internal import PreviewCore

/// Replaces variables by their values in the environment.
struct VariableExpansion: Sendable {
  private let environment: [String: String]

  init(_ environment: [String: String]) { self.environment = environment }

  /// Replaces the variables in `text`. `$${` becomes `${`. Values are not expanded again.
  ///
  /// - Throws: `WordError` if a variable is not set and has no default, or if a brace is not closed.
  func expand(_ text: String) throws(WordError) -> String {
    guard text.contains("${") else { return text }
    var expanded = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "${") {
      let before = rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      if before.hasSuffix("$") {
        expanded += before.dropLast() + "${"
        continue
      }
      guard let end = rest.firstIndex(of: "}") else {
        throw WordError("'${' has no '}'; where no variable is meant it is written '$${'")
      }
      expanded += before
      expanded += try value(of: rest[..<end])
      rest = rest[rest.index(after: end)...]
    }
    return expanded + rest
  }

  private func value(of text: Substring) throws(WordError) -> String {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    if let value = environment[String(parts[0])] { return value }
    guard parts.count == 2 else {
      throw WordError("the environment has no \(parts[0]), and '${\(parts[0]):...}' gives no default")
    }
    return String(parts[1])
  }
}
