// The addresses that a WebRTC client may send to: the configured ones, and those at which the port answers.
internal import NIOCore

enum WHEPAddresses {
  /// More candidates would only make clients check longer.
  private static let most = 16

  /// The candidates, the best one first.
  ///
  /// - Parameters:
  /// - configured: the candidates of the configuration, which come first.
  ///   - bound: where the port listens.
  /// - asked: the local address that the client's request came to, which the client can reach.
  ///   - interfaces: all addresses of the machine.
  /// - Returns: at most sixteen, without repetition.
  static func candidates(
    configured: [WebRTCConfiguration.Candidate], bound: SocketAddress, asked: String?, interfaces: [String]
  ) -> [SDPAnswer.Candidate] {
    let port = bound.port ?? 0
    var found = configured.map { SDPAnswer.Candidate(address: $0.address, port: $0.port ?? port) }
    for address in addresses(bound, asked, interfaces) {
      let candidate = SDPAnswer.Candidate(address: address, port: port)
      if !found.contains(candidate) { found.append(candidate) }
    }
    return Array(found.prefix(most))
  }

  private static func addresses(_ bound: SocketAddress, _ asked: String?, _ interfaces: [String]) -> [String]
  {
    guard let own = bound.ipAddress else { return [] }
    let isV4 = own.contains(".")
    guard own == "0.0.0.0" || own == "::" else { return [own] }
    let asked = asked.map(Self.plain)
    // A request over loopback comes from this machine, or from a proxy on it, so all other addresses are
    // offered too.
    let others = interfaces.filter {
      !$0.hasPrefix("127.") && $0 != "::1" && !$0.lowercased().hasPrefix("fe80")
    }
    return ([asked].compactMap { $0 } + others).filter { !isV4 || !$0.contains(":") }
  }

  /// The address without a zone. An IPv4-mapped IPv6 address becomes IPv4.
  private static func plain(_ address: String) -> String {
    let prefix = "::ffff:"
    let address = String(address.prefix { $0 != "%" })
    return address.lowercased().hasPrefix(prefix) && address.contains(".")
      ? String(address.dropFirst(prefix.count)) : address
  }

  /// The addresses of the machine's interfaces.
  static var ofInterfaces: [String] {
    let devices = (try? System.enumerateDevices()) ?? []
    return devices.compactMap { $0.address?.ipAddress }
  }
}
