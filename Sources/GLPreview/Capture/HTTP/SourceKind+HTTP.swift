// HTTP servers as a kind of source, and what they need no HTTP for. Without the trait, their sources are refused by name.

extension SourceKind {
  /// `http://`, `https://`
  static let httpServer = SourceKind(
    schemes: ["http", "https"], certifiedScheme: "https", origin: .network, isPolled: true
  ) { text, options in
    #if HTTP
      .device(try HTTPDevice(text, options))
    #else
      let reason = "this build has no HTTP (the package's trait HTTP is off)"
      throw SourceError(.badRequest, path: text, reason: reason)
    #endif
  }
}

extension StreamTunnel {
  /// Opens tunnels to servers whose certificate is verified; nil in builds without TLS.
  static var verified: Open? {
    #if HTTP
      RTSPTunnel.open
    #else
      nil
    #endif
  }
}
