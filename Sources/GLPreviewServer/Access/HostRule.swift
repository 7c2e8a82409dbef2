// Decides which host names belong to this service. A foreign page can point its own name at our address (DNS
// rebinding), and browsers then treat us as that site. Only the Host field reveals it.
internal import GLPreview
internal import Glibc

/// The host names that a service accepts.
struct HostRule: Sendable {
  /// The listening address and the machine's name, which need no configuration.
  private let names: Set<String>
  private let allowsUnknown: Bool

  /// - Parameters:
  ///   - bind: the listening address.
  ///   - machine: the machine's name; also accepted with `.local` appended, for mDNS.
  init(_ bind: BindAddress, machine: String? = Self.machineName) {
    var names: Set = ["localhost"]
    if case .host(let name, _) = bind { names.insert(name.lowercased()) }
    if let machine = machine?.lowercased(), !machine.isEmpty {
      names.insert(machine)
      if !machine.contains(".") { names.insert(machine + ".local") }
    }
    self.names = names
    // Browsers can't open sockets in the file system; the proxy in front of one knows its own names.
    allowsUnknown = if case .unix = bind { true } else { false }
  }

  /// Whether a request may use the host name `host`.
  ///
  /// - Parameters:
  ///   - host: the name in the Host field.
  ///   - allowed: the configured names; `*` allows all.
  /// - Returns: whether the name is accepted.
  func allows(_ host: HostName, or allowed: [String]) -> Bool {
    if host.isAddress || names.contains(host.text) || host.text.hasSuffix(".localhost") { return true }
    return allowed.isEmpty ? allowsUnknown : allowed.contains { $0 == "*" || $0.lowercased() == host.text }
  }

  /// The machine's name.
  static var machineName: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The host of a `Host` field: a name or an address, lower-case, without the port.
struct HostName: Sendable, Hashable {
  let text: String
  let isAddress: Bool

  /// Nil unless `authority` is `HOST[:PORT]`, because parsers could disagree about anything else.
  init?(_ authority: String) {
    let isBracketed = authority.hasPrefix("[")
    guard
      let end = isBracketed
        ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":") ?? authority.endIndex
    else { return nil }
    var host = authority[..<end]
    var rest = authority[end...]
    if isBracketed { (host, rest) = (host.dropFirst(), rest.dropFirst()) }
    let isPort = rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy { ("0"..."9").contains($0) }
    let isHost = host.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0) || isBracketed && ":%".contains($0))
    }
    guard isPort, isHost, !host.isEmpty else { return nil }
    var name = host.lowercased()
    if !isBracketed, name.hasSuffix(".") { name.removeLast() }
    text = name
    isAddress = ClientGroup.isAddress(name)
  }
}

/// The origin of the page that sends a request: `scheme://host[:port]`.
struct RequestOrigin: Sendable, Hashable {
  private let scheme: String
  private let authority: String
  private let text: String

  init(_ text: String) {
    self.text = text.lowercased()
    let halves = self.text.split(separator: "://", maxSplits: 1)
    scheme = halves.count == 2 ? String(halves[0]) : ""
    authority = halves.count == 2 ? String(halves[1]) : ""
  }

  /// Whether the origin has this host and port. The scheme is ignored, because a proxy may terminate TLS.
  func isAt(_ host: String) -> Bool {
    !authority.isEmpty && withoutUsualPort(authority) == withoutUsualPort(host.lowercased())
  }

  /// Whether `origins` contains it by name.
  func isNamed(in origins: [String]) -> Bool { origins.contains { $0 != "*" && $0.lowercased() == text } }

  /// Whether `origins` contains it, or `*`.
  func isIn(_ origins: [String]) -> Bool { origins.contains { $0 == "*" || $0.lowercased() == text } }

  private func withoutUsualPort(_ host: String) -> Substring {
    let port = scheme == "https" ? ":443" : ":80"
    return host.hasSuffix(port) ? host.dropLast(port.count) : host[...]
  }
}
