// HTTP servers as a kind of source.

extension SourceKind {
  /// `http://`, `https://`. `decoding` decodes the video of other nodes; without it, that can only be sent on.
  package static func httpServer(decoding: PassableVideo.OpenDecoder?) -> SourceKind {
    SourceKind(schemes: ["http", "https"], certifiedScheme: "https", origin: .network, isPolled: true) {
      .device(try HTTPDevice($0, $1, decoding))
    }
  }
}
