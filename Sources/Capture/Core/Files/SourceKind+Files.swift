// Test patterns and file URLs as source kinds. A plain path is `SourceKind.path`, because the path may name a
// pipe.

extension SourceKind {
  /// `pattern:NAME[,size=WxH][,fps=N]`
  package static let testPattern = SourceKind(
    origin: .generated, takesMode: true, isNamed: { $0.hasPrefix("pattern:") }, isLive: { _ in false },
    fileStem: { String($0.dropFirst("pattern:".count).prefix { $0 != "," }) }
  ) { .source(try TestPatternSource($0.dropFirst("pattern:".count), $1)) }

  /// `file:///PATH`, an alias of the path. URLs with another machine's name are refused.
  package static let fileURL = SourceKind(
    origin: .path, isNamed: { $0.prefix(6).lowercased() == "file:/" }, name: { path(ofURL: $0) ?? $0 },
    isLive: { _ in false }
  ) { text, _ in
    let reason = "is not a file of this machine: use file:///PATH"
    throw SourceError(.badRequest, path: text, reason: reason)
  }

  /// Returns the path that a `file:` URL of this machine names (RFC 8089); nil for any other URL.
  private static func path(ofURL text: String) -> String? {
    let rest = text.dropFirst("file:".count)
    guard rest.hasPrefix("//") else { return String(rest).percentDecoded }
    let host = rest.dropFirst(2).prefix { $0 != "/" }
    let path = rest[host.endIndex...]
    guard host.isEmpty || host.lowercased() == "localhost", !path.isEmpty else { return nil }
    return String(path).percentDecoded
  }
}
