// Where RTSP clients connect.

package struct RTSPConfiguration: Sendable, Hashable {
  package enum Listen: Sendable, Hashable {
    case off
    case at(host: String, port: Int)
  }

  /// The address of the server, or off.
  package var listen = Listen.off

  /// The address to listen on; nil for none.
  package var address: ListenAddress? {
    guard case .at(let host, let port) = listen else { return nil }
    return .host(host, port: port)
  }
}

extension RTSPConfiguration {
  /// The key `rtsp`.
  package static let key = ConfigurationKey<ServerConfiguration>("rtsp", keys, \.rtsp, needsKeys: true)
    .atStart

  private static let keys: [ConfigurationKey<RTSPConfiguration>] = [
    .init(
      "listen", .rtspListen, \.listen, "`off`",
      "the address of the RTSP server; a port alone means 127.0.0.1")
  ]
}

extension ServerConfiguration {
  /// The RTSP server.
  package var rtsp: RTSPConfiguration {
    get { sections[RTSPSection.self] }
    set { sections[RTSPSection.self] = newValue }
  }
}

private enum RTSPSection: ConfigurationSection {
  static let usual = RTSPConfiguration()
  static let isAddress = true

  static func problems(of target: ServerConfiguration, in service: ServerConfiguration)
    -> [ConfigurationProblem]
  {
    guard let address = target.rtsp.address else { return [] }
    if target.access.asksForCredentials, target.access.users.isEmpty {
      let reason = "RTSP clients can't use tokens: set access.users (GLPREVIEW_USER)"
      return [ConfigurationProblem(path: ["rtsp", "listen"], reason)]
    }
    return target.problems(ofListeningAt: address, path: ["rtsp", "listen"])
  }
}

extension ConfigurationFormat<RTSPConfiguration.Listen> {
  static var rtspListen: Self {
    Self("`HOST:PORT`, `[ADDRESS]:PORT`, `PORT`, `off`") { text in
      if text == "off" { return .off }
      if let port = UInt16(text) { return .at(host: "127.0.0.1", port: Int(port)) }
      guard case .host(let host, let port) = try ListenAddress.parse(text) else {
        throw ParameterError("'\(text)': RTSP can't use a Unix socket: use HOST:PORT or off")
      }
      return .at(host: host, port: port)
    }
  }
}
