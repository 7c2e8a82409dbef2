// The environment: variables that set keys, and variables that values in files refer to.

struct ConfigurationEnvironment: Sendable {
  private let variables: [String: String]
  /// The variables that set keys. Containers often set a variable to an empty value instead of omitting it.
  private let keys: [String: String]

  init(_ variables: [String: String]) {
    self.variables = variables
    keys = variables.filter { $0.key.hasPrefix("GLPREVIEW_") && !$0.value.isEmpty }
  }

  // MARK: Keys

  /// The variable that sets the key at `path`, and its value; nil if there is none.
  func value(for path: [String]) -> (variable: String, text: String)? {
    guard !keys.isEmpty else { return nil }
    let variable = Self.variable(of: path)
    return keys[variable].map { (variable, $0) }
  }

  /// The name of the variable of a key, such as `GLPREVIEW_LIMITS_AD_HOC_VIEWS`.
  static func variable(of path: [String]) -> String {
    (["GLPREVIEW"] + path).map { part in
      var name = ""
      for sign in part {
        if sign.isUppercase, name.last?.isLowercase == true { name.append("_") }
        name.append(sign.isLetter || sign.isNumber ? sign : "_")
      }
      return name.uppercased()
    }.joined(separator: "_")
  }

  // MARK: Variables in files

  /// Replaces `${NAME}` and `${NAME:default}` in `text`, as other camera servers do. `$${` becomes `${`.
  /// Values are not expanded again.
  ///
  /// - Throws: `ParameterError` if a variable is not set and has no default, or if a brace is not closed.
  func expand(_ text: String) throws(ParameterError) -> String {
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
        throw ParameterError("'${' has no '}'; write '$${' for a literal '${'")
      }
      expanded += before
      expanded += try value(of: rest[..<end])
      rest = rest[rest.index(after: end)...]
    }
    return expanded + rest
  }

  private func value(of text: Substring) throws(ParameterError) -> String {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    if let value = variables[String(parts[0])] { return value }
    guard parts.count == 2 else {
      throw ParameterError(
        "the environment variable \(parts[0]) is not set; '${\(parts[0]):DEFAULT}' gives a default")
    }
    return String(parts[1])
  }
}
