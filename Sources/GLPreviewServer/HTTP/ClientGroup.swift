// Whose request it is, as far as an address tells: what limits are counted by.
internal import Glibc

/// Addresses that are one client: an IPv4 address, or an IPv6 network of 64 bits, since who has one address of that has all.
struct ClientGroup: Sendable, Hashable {
  /// Of a local socket: whoever speaks through it, and that is mostly a proxy of many.
  static let local = ClientGroup(bytes: [])

  private let bytes: [UInt8]

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// The group of a numeric address; what is none, such as `unix`, is `local`.
  init(_ address: String) {
    // A zone, as in fe80::1%eth0, is no part of the address.
    let text = address.prefix { $0 != "%" }
    guard let bytes = Self.v4(String(text)) ?? Self.v6(String(text)) else {
      self = .local
      return
    }
    self.bytes = bytes
  }

  /// Whether it is a local socket.
  var isLocal: Bool { bytes.isEmpty }

  /// Whether `text` is a numeric address, without brackets.
  static func isAddress(_ text: String) -> Bool { v4(text) != nil || v6(text) != nil }

  private static func v4(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4)
    return unsafe inet_pton(AF_INET, text, &bytes) == 1 ? bytes : nil
  }

  private static func v6(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard unsafe inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
    // ::ffff:0:0/96 is IPv4 on a socket of IPv6; all of fe80::/64 is one cable, with everybody on it.
    if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return Array(bytes[12...]) }
    if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return bytes }
    return Array(bytes[..<8])
  }
}
