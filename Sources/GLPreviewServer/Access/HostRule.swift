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

  /// Whether a request may call us `host`.
  ///
  /// - Parameters:
  ///   - host: what `Host` names.
  ///   - allowed: names of the configuration; `*` is all.
  /// - Returns: whether it is ours.
  func allows(_ host: HostName, or allowed: [String]) -> Bool {
    if host.isAddress || names.contains(host.text) || host.text.hasSuffix(".localhost") { return true }
    return allowed.isEmpty ? allowsUnknown : allowed.contains { $0 == "*" || $0.lowercased() == host.text }
  }

  /// What the machine is called.
  static var machineName: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The host of a field `Host`: a name or an address, in small letters and without its port.
struct HostName: Sendable, Hashable {
  let text: String
  let isAddress: Bool

  /// Nil where `authority` is not `HOST[:PORT]`: what one reader takes for the host, another may not.
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

  /// Whether it is one of `origins` by its name.
  func isNamed(in origins: [String]) -> Bool { origins.contains { $0 != "*" && $0.lowercased() == text } }

  /// Whether it is one of `origins`, by all of its text; `*` is all.
  func isIn(_ origins: [String]) -> Bool { origins.contains { $0 == "*" || $0.lowercased() == text } }

  private func withoutUsualPort(_ host: String) -> Substring {
    let port = scheme == "https" ? ":443" : ":80"
    return host.hasSuffix(port) ? host.dropLast(port.count) : host[...]
  }
}
