// What programs append to a URL so that nothing is cached, as `&1595805826022`, `?_=0.5234` or `&bypassCache=1595805826022`.

package enum CacheBuster {
  /// Names of parameters, in lower case and without - and _. None of them is a parameter of ours.
  private static let names: Set<String> = [
    "", "bypasscache", "cachebust", "cachebuster", "cb", "dc", "nocache", "rand", "random", "rnd", "t",
    "timestamp", "ts",
  ]

  /// The parameters of a query without those that mean nothing.
  package static func removed(from query: String) -> [Substring] {
    query.split(separator: "&").map(withoutSecondMark).filter { !matches($0) }
  }

  /// A number without a value, or one of the names.
  private static func matches(_ word: Substring) -> Bool {
    let name = String(word.prefix { $0 != "=" }).percentDecoded
    if name.utf8.count + 1 >= word.utf8.count, isNumber(name[...]) { return true }
    return names.contains(name.lowercased().filter { $0 != "_" && $0 != "-" })
  }

  /// Some programs append `?1595805826022` to a URL that has a query already. A label may end so.
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
