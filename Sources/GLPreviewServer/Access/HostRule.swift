// Which names are ours. A page of somebody else's may lead its own name to our address (DNS rebinding), and then is, to a
// browser, where we are: all that gives it away is the name that it calls us by.
internal import GLPreview
internal import Glibc

/// By which names a service may be called.
struct HostRule: Sendable {
  /// Where it listens, and the machine's name: ours without being told.
  private let names: Set<String>
  private let allowsUnknown: Bool

  /// - Parameters:
  ///   - bind: where it listens.
  ///   - machine: what the machine is called; also with `.local` behind it, as mDNS has it.
  init(_ bind: BindAddress, machine: String? = Self.machineName) {
    var names: Set = ["localhost"]
    if case .host(let name, _) = bind { names.insert(name.lowercased()) }
    if let machine = machine?.lowercased(), !machine.isEmpty {
      names.insert(machine)
      if !machine.contains(".") { names.insert(machine + ".local") }
    }
    self.names = names
    // No browser opens a socket in the file system: what stands before it knows its own names.
    allowsUnknown = if case .unix = bind { true } else { false }
  }

  /// Whether a request may call us `authority`, a name or address with or without a port.
  ///
  /// - Parameters:
  ///   - authority: as in `Host`.
  ///   - allowed: names of the configuration; `*` is all.
  /// - Returns: whether it is ours.
  func allows(_ authority: String, or allowed: [String]) -> Bool {
    let name = Self.name(in: authority)
    if name.isAddress || names.contains(name.text) || name.text.hasSuffix(".localhost") { return true }
    return allowed.isEmpty ? allowsUnknown : allowed.contains { $0 == "*" || $0.lowercased() == name.text }
  }

  /// `authority` without its port, in small letters.
  private static func name(in authority: String) -> (text: String, isAddress: Bool) {
    if authority.hasPrefix("[") {
      let inside = authority.dropFirst().prefix { $0 != "]" }
      return (String(inside), ClientGroup.isAddress(String(inside)))
    }
    var name = authority.prefix { $0 != ":" }.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    return (name, ClientGroup.isAddress(name))
  }

  /// What the machine is called.
  static var machineName: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Where a page comes from that sends a request: `scheme://host[:port]`.
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

  /// Whether it is where the request goes to. Not its scheme: what ends TLS before us has another.
  func isAt(_ host: String) -> Bool {
    !authority.isEmpty && withoutUsualPort(authority) == withoutUsualPort(host.lowercased())
  }

  /// Whether it is one of `origins`, by all of its text; `*` is all.
  func isIn(_ origins: [String]) -> Bool { origins.contains { $0 == "*" || $0.lowercased() == text } }

  private func withoutUsualPort(_ host: String) -> Substring {
    let port = scheme == "https" ? ":443" : ":80"
    return host.hasSuffix(port) ? host.dropLast(port.count) : host[...]
  }
}
