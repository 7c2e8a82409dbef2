// The address of a stream: for FFmpeg, and for display.
#if FFmpeg
  internal import PreviewCore

  /// An address as typed, without the options that are meant for GLPreview.
  struct StreamURL: Sendable, Hashable, CustomStringConvertible {
    /// The whole address for FFmpeg, with user and password.
    let address: String
    /// The name for messages, without secrets.
    let name: String
    /// The scheme in lower case: `rtsp`.
    let scheme: String
    /// The transport in a `#transport=tcp` or `#transport=udp` at the end.
    let transport: SourceOptions.StreamTransport?

    var description: String { name }

    /// - Throws: `SourceError`, `.badRequest`.
    init(_ text: String) throws(SourceError) {
      var address = text[...]
      var transport: SourceOptions.StreamTransport?
      if let mark = text.lastIndex(of: "#") {
        let word = text[text.index(after: mark)...]
        if word.hasPrefix("transport=") {
          transport = SourceOptions.StreamTransport(rawValue: String(word.dropFirst("transport=".count)))
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
