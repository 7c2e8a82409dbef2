// The configuration keys below `webrtc`.
internal import Glibc

extension WebRTCConfiguration {
  /// The key `webrtc`.
  package static let key = ConfigurationKey<ServerConfiguration>("webrtc", keys, \.webRTC)

  private static let keys: [ConfigurationKey<WebRTCConfiguration>] = [
    .init(
      "listen", .webRTCListen, \.listen, "the address and port of `bind`",
      "the UDP address to which clients connect; `off` disables WebRTC"),
    .init(
      "candidates", listOf: .candidate, \.candidates, "none",
      "additional addresses at which clients reach that port: of a router, or of a container's host"),
    .init(
      "ice-servers", listOf: .iceServer, \.iceServers, "none",
      "STUN servers, from which clients learn their own addresses, and TURN servers, which relay for them"),
  ]
}

extension ServerConfiguration {
  package var webRTC: WebRTCConfiguration {
    get { sections[WebRTCSection.self] }
    set { sections[WebRTCSection.self] = newValue }
  }
}

private enum WebRTCSection: ConfigurationSection {
  typealias Target = ServerConfiguration
  static let usual = WebRTCConfiguration()
}

extension ConfigurationFormat<WebRTCConfiguration.Listen> {
  static var webRTCListen: Self {
    Self("`HOST:PORT`, `[ADDRESS]:PORT`, `off`") { text in
      if text == "off" { return .off }
      guard case .host(let host, let port) = try ListenAddress.parse(text) else {
        throw ParameterError("'\(text)': WebRTC can't use a Unix socket: use HOST:PORT or off")
      }
      return .at(host: host, port: port)
    }
  }
}

extension ConfigurationFormat<WebRTCConfiguration.Candidate> {
  static var candidate: Self {
    Self("`ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`") { text in
      if isAddress(text) { return .init(address: text) }
      guard case .host(let host, let port) = try ListenAddress.parse(text), isAddress(host),
        port > 0
      else {
        throw ParameterError("'\(text)' is not a numeric address, such as 203.0.113.7 or 203.0.113.7:8189")
      }
      return .init(address: host, port: port)
    }
  }

  private static func isAddress(_ text: String) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16)
    return unsafe inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
  }
}

extension ConfigurationFormat<WebRTCConfiguration.ICEServer> {
  static var iceServer: Self {
    Self("`stun:HOST:PORT`, `turn:HOST:PORT`, `turn:USER:PASSWORD@HOST:PORT`", isSecret: true) { text in
      let form = "a server must be stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT"
      let scheme = text.prefix { $0 != ":" }
      guard ["stun", "stuns", "turn", "turns"].contains(scheme), text.count > scheme.count + 1,
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\"#.utf8.contains($0) })
      else { throw ParameterError(form) }
      let rest = text.dropFirst(scheme.count + 1)
      guard let at = rest.lastIndex(of: "@") else { return .init(url: text) }
      let (credentials, host) = (rest[..<at], rest[rest.index(after: at)...])
      guard scheme.hasPrefix("turn"), !host.isEmpty, let colon = credentials.firstIndex(of: ":") else {
        throw ParameterError(form)
      }
      return .init(
        url: "\(scheme):\(host)", user: String(credentials[..<colon]),
        password: String(credentials[credentials.index(after: colon)...]))
    }
  }
}
