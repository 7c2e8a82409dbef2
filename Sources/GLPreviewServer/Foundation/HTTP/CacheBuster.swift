// Parameters that programs append to a URL to bypass caches, as `&1595805826022`, `?_=0.5234` or
// `&bypassCache=1595805826022`.

package enum CacheBuster {
  /// The names of such parameters, in lower case and without `-` and `_`. No route has a parameter of these
  /// names.
  private static let names: Set<String> = [
    "", "bypasscache", "cachebust", "cachebuster", "cb", "dc", "nocache", "rand", "random", "rnd", "t",
    "timestamp", "ts",
  ]

  /// Returns the parameters of a query without cache busters.
  package static func removed(from query: String) -> [Substring] {
    query.split(separator: "&").map(withoutSecondMark).filter { !matches($0) }
  }

  /// Whether a parameter is a number without a value, or has one of the names.
  private static func matches(_ word: Substring) -> Bool {
    let name = String(word.prefix { $0 != "=" }).percentDecoded
    if name.utf8.count + 1 >= word.utf8.count, isNumber(name[...]) { return true }
    return names.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
  }

  /// Removes a cache buster after a second question mark: some programs append `?1595805826022` to a URL that
  /// already has a query. Labels are left unchanged, because their text may end like that.
  private static func withoutSecondMark(_ word: Substring) -> Substring {
    guard !word.hasPrefix("label=") else { return word }
    var word = word
    while let mark = word.lastIndex(of: "?"), matches(word[word.index(after: mark)...]) {
      word = word[..<mark]
    }
    return word
  }

  private static func isNumber(_ text: Substring) -> Bool {
    text.first.map { "0123456789.".contains($0) } == true && Double(text) != nil
  }
}
