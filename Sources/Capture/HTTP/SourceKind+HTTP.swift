// HTTP servers as a source kind.

extension SourceKind {
  /// `http://`, `https://`. `decoding` decodes the video of other nodes; without it, their video can only be
  /// passed through.
  package static func httpServer(decoding: OriginalVideo.OpenDecoder?) -> SourceKind {
    SourceKind(schemes: ["http", "https"], certifiedScheme: "https", origin: .network, isPolled: true) {
      .device(try HTTPDevice($0, $1, decoding))
    }
  }
}
