// The addresses that a WebRTC client may send to: those that are configured, and those at which the port answers.
internal import NIOCore

enum WHEPAddresses {
  /// More would only make clients check longer.
  private static let most = 16

  /// The candidates, the best one first.
  ///
  /// - Parameters:
  ///   - configured: those of the configuration, which stand first.
  ///   - bound: where the port listens.
  ///   - asked: the address of ours that the client's request came to; it has shown that it can be reached.
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
    // A request over loopback comes from this machine, or from a proxy on it: then all others may do.
    let others = interfaces.filter {
      !$0.hasPrefix("127.") && $0 != "::1" && !$0.lowercased().hasPrefix("fe80")
    }
    return ([asked].compactMap { $0 } + others).filter { !isV4 || !$0.contains(":") }
  }

  /// An IPv4 address as an IPv6 socket has it, without what makes it one of IPv6; and without a zone.
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
