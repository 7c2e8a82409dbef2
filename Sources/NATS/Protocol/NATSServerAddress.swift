// The address of a server.

/// A server's address: `nats://HOST:PORT`, `tls://HOST:PORT`, or `HOST[:PORT]`.
package struct NATSServerAddress: Sendable, Hashable, CustomStringConvertible {
  /// A name or an IP address, without brackets.
  package let host: String
  /// The TCP port, 4222 by default.
  package let port: Int
  /// Whether connections without TLS are refused, whatever the server supports.
  package let requiresTLS: Bool
  /// The name to expect in the certificate if `host` is an IP address learned from another server.
  let certificateName: String?

  /// Creates an address from its parts.
  package init(host: String, port: Int = 4222, requiresTLS: Bool = false) {
    (self.host, self.port, self.requiresTLS, certificateName) = (host, port, requiresTLS, nil)
  }

  /// Parses an address. Credentials belong in `NATSConfiguration.authentication`; an address that contains
  /// them is refused.
  ///
  /// - Throws: `NATSError.invalidConfiguration`.
  package init(_ text: String) throws(NATSError) {
    guard let address = Self(text, listedBy: nil) else {
      throw .invalidConfiguration(
        "an address of a NATS server is nats://HOST:PORT, tls://HOST:PORT or HOST:PORT")
    }
    self = address
  }

  /// Nil if the text is not an address. An address learned from another server inherits that server's TLS
  /// requirement.
  init?(_ text: String, listedBy source: NATSServerAddress?) {
    var rest = text[...]
    var requiresTLS = source?.requiresTLS ?? false
    if rest.hasPrefix("tls://") { requiresTLS = true }
    for scheme in ["nats://", "tls://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var port = Substring("4222")
    let isBracketed = rest.hasPrefix("[")
    if let colon = rest.lastIndex(of: ":"), !isBracketed || rest[..<colon].hasSuffix("]") {
      port = rest[rest.index(after: colon)...]
      rest = rest[..<colon]
    }
    if isBracketed {
      guard rest.hasSuffix("]"), rest.contains(":") else { return nil }
      rest = rest.dropFirst().dropLast()
    } else if rest.contains(":") {
      return nil
    }
    let isHost = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/@?#[]\\".utf8.contains($0) }
    guard isHost, !rest.isEmpty, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = UInt16(port), number > 0
    else { return nil }
    (host, self.port, self.requiresTLS) = (String(rest), Int(number), requiresTLS)
    certificateName = source.flatMap { $0.certificateName ?? $0.host }
  }

  package var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// Compares host and port only: addresses that agree in both are the same server.
  package static func == (one: Self, other: Self) -> Bool { one.host == other.host && one.port == other.port }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }
}
