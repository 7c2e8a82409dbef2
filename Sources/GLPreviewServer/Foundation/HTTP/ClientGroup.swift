// Identifies a client by its address, for counting limits.
internal import Glibc

/// One client for counting limits: an IPv4 address, an IPv6 /64 network, because a host usually controls all
/// of it, or all programs that send requests through NATS.
package struct ClientGroup: Sendable, Hashable {
  /// A Unix socket, usually used by a proxy for many clients.
  static let local = ClientGroup(bytes: [])

  /// All programs that send requests through NATS, which does not prove their names to the node.
  package static let brokerClients = ClientGroup(bytes: Array("clients by the broker".utf8))

  /// All clients that open links signed by the key `name`, or one of these clients.
  package static func key(_ name: String, _ client: ClientGroup? = nil) -> ClientGroup {
    ClientGroup(bytes: Array("links by \(name) ".utf8) + (client?.bytes ?? []))
  }

  private let bytes: [UInt8]

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Creates the group of a numeric address. Any other text, such as `unix`, is `local`.
  package init(_ address: String) {
    // A zone, as in fe80::1%eth0, is not part of the address.
    let text = address.prefix { $0 != "%" }
    guard let bytes = Self.v4(String(text)) ?? Self.v6(String(text)) else {
      self = .local
      return
    }
    self.bytes = bytes
  }

  package var isLocal: Bool { bytes.isEmpty }

  /// Whether `text` is a numeric address without brackets.
  package static func isAddress(_ text: String) -> Bool { v4(text) != nil || v6(text) != nil }

  private static func v4(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4)
    return unsafe inet_pton(AF_INET, text, &bytes) == 1 ? bytes : nil
  }

  private static func v6(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard unsafe inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
    // ::ffff:0:0/96 is IPv4 on an IPv6 socket. All of fe80::/64 is one link, shared by all hosts on it.
    if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return Array(bytes[12...]) }
    if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return bytes }
    return Array(bytes[..<8])
  }
}
