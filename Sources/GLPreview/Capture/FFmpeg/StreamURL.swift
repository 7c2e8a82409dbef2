// The address of a stream: what FFmpeg gets, and what people may read.
#if FFmpeg
  internal import PreviewCore

  /// An address as it was typed, without what is meant for us alone.
  struct StreamURL: Sendable, Hashable {
    /// For FFmpeg: whole, with user and password.
    let address: String
    /// For messages: without user, and without what looks like a password.
    let name: String
    /// `rtsp`, in lower case.
    let scheme: String
    /// What a `#transport=tcp` or `#transport=udp` at the end asks for.
    let transport: StreamTransport?

    /// - Throws: `SourceError`, `.badRequest`.
    init(_ text: String) throws(SourceError) {
      var address = text[...]
      var transport: StreamTransport?
      if let mark = text.lastIndex(of: "#") {
        let word = text[text.index(after: mark)...]
        if word.hasPrefix("transport=") {
          transport = StreamTransport(rawValue: String(word.dropFirst("transport=".count)))
          guard transport != nil else {
            throw SourceError(
              .badRequest, path: Self.redacted(text), reason: "#\(word) is none of automatic, tcp, udp")
          }
          address = text[..<mark]
        }
      }
      self.address = String(address)
      self.transport = transport
      name = Self.redacted(self.address)
      let parts = address.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      scheme = parts[0].lowercased()
      guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].count > 2, !address.utf8.contains(0) else {
        throw SourceError(.badRequest, path: name, reason: "is not an address like \(scheme)://HOST/PATH")
      }
    }

    /// Without user and password before the host, and without the values of what is called so after it.
    static func redacted(_ text: String) -> String {
      guard let colon = text.firstIndex(of: ":") else { return text }
      let rest = text[text.index(after: colon)...].drop { $0 == "/" }
      let scheme = text[..<rest.startIndex]
      var authority = rest.prefix { !"/?#".contains($0) }
      // A password that was not escaped may look like the end of the host: "user:pa/ss@host".
      if !authority.contains("@"), let port = authority.split(separator: ":").dropFirst().last,
        !port.allSatisfy(\.isNumber), let end = rest.lastIndex(of: "@")
      {
        authority = rest[...end]
      }
      let start = authority.lastIndex(of: "@").map { rest.index(after: $0) } ?? rest.startIndex
      return scheme + withoutSecrets(rest[start...])
    }

    private static let secrets = [
      "password", "passwd", "passphrase", "pass", "pwd", "token", "secret", "auth",
    ]

    /// `user=admin&password=1234` and `user=admin_password=1234_channel=1` with stars for 1234.
    private static func withoutSecrets(_ text: Substring) -> String {
      var result = ""
      var rest = text
      while let equals = rest.firstIndex(of: "=") {
        let key = rest[..<equals]
        result += key + "="
        rest = rest[rest.index(after: equals)...]
        let word = key.reversed().prefix { $0.isLetter }.reversed()
        guard secrets.contains(String(word).lowercased()) else { continue }
        result += "***"
        let value = rest.prefix { !"&;/?#".contains($0) }
        // Another key may follow after "_": the last such one within the value, before its "=".
        let key2 = value.firstIndex(of: "=").flatMap { value[..<$0].lastIndex(of: "_") }
        rest = rest[(key2 ?? value.endIndex)...]
      }
      return result + rest
    }
  }
#endif
