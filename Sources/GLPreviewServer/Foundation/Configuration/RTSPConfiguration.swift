// Where RTSP clients connect.

package struct RTSPConfiguration: Sendable, Hashable {
  package enum Listen: Sendable, Hashable {
    case off
    case at(host: String, port: Int)
  }

  /// Where the server is.
  package var listen = Listen.off

  /// The address to listen on; nil for none.
  package var address: ListenAddress? {
    guard case .at(let host, let port) = listen else { return nil }
    return .host(host, port: port)
  }
}

extension ConfigurationKeys {
  static let rtsp: [ConfigurationKey<RTSPConfiguration>] = [
    .init(
      "listen", .rtspListen, \.listen, "`off`",
      "the address of the RTSP server; a port alone is at 127.0.0.1")
  ]
}

extension ConfigurationWord<RTSPConfiguration.Listen> {
  static var rtspListen: Self {
    Self("`HOST:PORT`, `[ADDRESS]:PORT`, `PORT`, `off`") { text in
      if text == "off" { return .off }
      if let port = UInt16(text) { return .at(host: "127.0.0.1", port: Int(port)) }
      guard case .host(let host, let port) = try ListenAddress.parse(text) else {
        throw WordError("'\(text)': RTSP has no local sockets; give HOST:PORT or off")
      }
      return .at(host: host, port: port)
    }
  }
}
