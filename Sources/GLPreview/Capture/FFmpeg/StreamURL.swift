// The address of a stream: what FFmpeg gets, and what people may read.
#if FFmpeg
  internal import PreviewCore

  /// An address as it was typed, without what is meant for us alone.
  struct StreamURL: Sendable, Hashable, CustomStringConvertible {
    /// For FFmpeg: whole, with user and password.
    let address: String
    /// For messages: without what may be secret.
    let name: String
    /// `rtsp`, in lower case.
    let scheme: String
    /// What a `#transport=tcp` or `#transport=udp` at the end asks for.
    let transport: StreamTransport?

    var description: String { name }

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
              .badRequest, path: Redaction.source(text), reason: "#\(word) is none of automatic, tcp, udp")
          }
          address = text[..<mark]
        }
      }
      self.address = String(address)
      self.transport = transport
      name = Redaction.source(self.address)
      let parts = address.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      scheme = parts[0].lowercased()
      guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].count > 2, !address.utf8.contains(0) else {
        throw SourceError(.badRequest, path: name, reason: "is not an address like \(scheme)://HOST/PATH")
      }
    }
  }
#endif
