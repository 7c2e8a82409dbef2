// Test patterns and URLs of files as kinds of source. A plain path is `SourceKind.path`, since a pipe may be there.

extension SourceKind {
  /// `pattern:NAME[,size=WxH][,fps=N]`
  package static let testPattern = SourceKind(
    origin: .generated, takesMode: true, isNamed: { $0.hasPrefix("pattern:") }, isLive: { _ in false },
    fileStem: { String($0.dropFirst("pattern:".count).prefix { $0 != "," }) }
  ) { .source(try TestPatternSource($0.dropFirst("pattern:".count), $1)) }

  /// `file:///PATH`, which stands for the path; URLs of other machines are refused.
  package static let fileURL = SourceKind(
    origin: .path, isNamed: { $0.prefix(6).lowercased() == "file:/" }, name: { path(ofURL: $0) ?? $0 },
    isLive: { _ in false }
  ) { text, _ in
    let reason = "names no file of this machine; a file URL is file:///PATH"
    throw SourceError(.badRequest, path: text, reason: reason)
  }

  /// The path that a `file:` URL of this machine names (RFC 8089); nil for anything else.
  private static func path(ofURL text: String) -> String? {
    let rest = text.dropFirst("file:".count)
    guard rest.hasPrefix("//") else { return String(rest).percentDecoded }
    let host = rest.dropFirst(2).prefix { $0 != "/" }
    let path = rest[host.endIndex...]
    guard host.isEmpty || host.lowercased() == "localhost", !path.isEmpty else { return nil }
    return String(path).percentDecoded
  }
}
