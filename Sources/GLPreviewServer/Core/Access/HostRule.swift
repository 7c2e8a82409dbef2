// The host names and origins that requests may use. A foreign page can point its own host name to the
// service's address (DNS rebinding), and browsers then treat the service as that site. Only the Host field
// reveals it.
internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// The host names that a service accepts.
struct HostRule: Sendable {
  /// The host in `bind` and the machine's name, which need no configuration.
  private let names: Set<String>
  private let allowsUnknown: Bool

  /// Creates a rule. `machine` is also accepted with `.local` appended, for mDNS.
  init(_ bind: ListenAddress, machine: String? = Self.machineName) {
    var names: Set = ["localhost"]
    if case .host(let name, _) = bind { names.insert(name.lowercased()) }
    if let machine = machine?.lowercased(), !machine.isEmpty {
      names.insert(machine)
      if !machine.contains(".") { names.insert(machine + ".local") }
    }
    self.names = names
    // Browsers can't open Unix sockets; the proxy in front of one knows its own names.
    allowsUnknown = if case .unix = bind { true } else { false }
  }

  /// Returns whether every request may use the host name `host`.
  func contains(_ host: HostName) -> Bool {
    host.isAddress || names.contains(host.text) || host.text.hasSuffix(".localhost")
  }

  /// Returns whether a request may use the host name `host`.
  func allows(_ host: HostName, by configuration: AccessConfiguration) -> Bool {
    contains(host) || isAllowed(host.text, configuration)
  }

  private func isAllowed(_ host: String, _ configuration: AccessConfiguration) -> Bool {
    configuration.publicURL?.host == host || isIn(configuration.allowedHosts, host)
  }

  private func isIn(_ allowed: [String], _ host: String) -> Bool {
    allowed.isEmpty ? allowsUnknown : allowed.contains { $0 == "*" || $0.lowercased() == host }
  }

  /// Returns whether a request of this site is still allowed, by the rules of `HostMiddleware`.
  func allows(_ site: RequestSite, by configuration: AccessConfiguration) -> Bool {
    guard site.host.map({ isAllowed($0, configuration) }) ?? true else { return false }
    guard let origin = site.origin.map({ RequestOrigin($0) }) else { return true }
    let allowed = configuration.allowedOrigins
    return site.isChange ? origin.isNamed(in: allowed) : origin.isIn(allowed)
  }

  static var machineName: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
    return String(written: buffer)
  }
}

/// The host of a `Host` field: a name or an address in lower case, without the port.
struct HostName: Sendable, Hashable {
  let text: String
  let isAddress: Bool

  /// Nil unless `authority` is `HOST[:PORT]`, because parsers could disagree about any other form.
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
    let isName = !host.contains(":")
    if isName, name.hasSuffix(".") { name.removeLast() }
    guard !name.isEmpty, !isName || !name.hasSuffix(".") else { return nil }
    text = name
    isAddress = ClientGroup.isAddress(name)
  }
}

/// The origin of the page that sends a request: `scheme://host[:port]`.
struct RequestOrigin: Sendable, Hashable {
  let text: String
  private let scheme: String
  private let authority: String

  init(_ text: String) {
    self.text = text.lowercased()
    let halves = self.text.split(separator: "://", maxSplits: 1)
    scheme = halves.count == 2 ? String(halves[0]) : ""
    authority = halves.count == 2 ? String(halves[1]) : ""
  }

  /// Returns whether the origin has this host and port. The scheme is ignored, because a proxy may terminate
  /// TLS.
  func isAt(_ host: String) -> Bool {
    let place = withoutUsualPort(authority)
    return !place.isEmpty && place == withoutUsualPort(host.lowercased())
  }

  /// Returns whether `origins` contains it by name.
  func isNamed(in origins: [String]) -> Bool { origins.contains { $0 != "*" && $0.lowercased() == text } }

  /// Returns whether `origins` contains it, or `*`.
  func isIn(_ origins: [String]) -> Bool { origins.contains { $0 == "*" || $0.lowercased() == text } }

  private func withoutUsualPort(_ host: String) -> Substring {
    let port = scheme == "https" ? ":443" : ":80"
    return host.hasSuffix(port) ? host.dropLast(port.count) : host[...]
  }
}

/// Admits requests that are meant for this service and come from allowed pages.
///
/// Reads are checked too: with a host name that resolves to the service's address (DNS rebinding), a foreign
/// page could read every picture.
struct HostMiddleware: ServiceMiddleware {
  let control: AccessControl

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    let configuration = control.configuration
    var context = context
    // Only HTTP/1.0 requests lack a Host, and browsers do not send those. A second Host remains among the
    // fields.
    if let host = request.head.authority {
      guard let name = HostName(host), request.headers[named: "Host"] == nil else {
        throw Problem(.badRequest, "a request must have exactly one Host field, HOST or HOST:PORT")
      }
      guard control.hosts.allows(name, by: configuration) else {
        throw Problem(
          .misdirectedRequest,
          "host '\(name.text)' is not allowed: add it to access.hosts in the configuration")
      }
      if !control.hosts.contains(name) { context.site.host = name.text }
    }
    try addOrigin(of: request, configuration.allowedOrigins, to: &context.site)
    return try await next(request, context)
  }

  private func addOrigin(
    of request: Request, _ allowed: [String], to site: inout RequestSite
  ) throws(Problem) {
    let origin = request.headers[.origin].map { RequestOrigin($0) }
    let isOwn = origin.map { $0.isAt(request.head.authority ?? "") } ?? true
    // This field reveals the site that made the request, even if the request has no Origin field.
    guard !isOwn || request.headers[named: "Sec-Fetch-Site"] == "cross-site" else { return }
    // Browsers let pages of any origin open a WebSocket and read it.
    site.isChange = request.method.changesSomething || request.asksForWebSocket
    // `*` only allows reading: with a change, a browser would also send the user's password.
    if let origin, site.isChange ? origin.isNamed(in: allowed) : origin.isIn(allowed) {
      site.origin = origin.text
    } else if site.isChange {
      throw Problem(
        .forbidden,
        "other origins may not change anything or open a WebSocket: add the origin to access.origins in the configuration"
      )
    }
  }
}

/// Cross-origin resource sharing (Fetch Standard, 3.2), for the configured origins.
///
/// Preflight requests (OPTIONS) are answered before authentication, because they carry no credentials.
/// Cookies are never allowed: pages of other origins use a token.
struct CrossOriginMiddleware: ServiceMiddleware {
  let control: AccessControl

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    let allowed = control.configuration.allowedOrigins
    guard !allowed.isEmpty, let origin = request.headers[.origin] else {
      return try await next(request, context)
    }
    let known = RequestOrigin(origin)
    guard known.isIn(allowed) else { return varied(try await next(request, context)) }
    let isQuestion = request.method == .options && request.headers[.accessControlRequestMethod] != nil
    var response =
      isQuestion ? Self.answer(mayChange: known.isNamed(in: allowed)) : try await next(request, context)
    response.headers[.accessControlAllowOrigin] = allowed.contains("*") ? "*" : origin
    response.headers[.accessControlExposeHeaders] = "*"
    return varied(response)
  }

  private static func answer(mayChange: Bool) -> Response {
    var fields = HTTPFields()
    fields[.accessControlAllowMethods] = "GET, HEAD" + (mayChange ? ", POST, PUT, PATCH, DELETE" : "")
    fields[.accessControlAllowHeaders] =
      "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, X-Requested-With"
    fields[.accessControlMaxAge] = "600"
    return Response(status: .noContent, headers: fields)
  }

  /// Adds `Vary`, so that caches store an answer separately per origin.
  private func varied(_ response: Response) -> Response {
    var response = response
    response.headers.append(HTTPField(name: .vary, value: "Origin"))
    return response
  }
}
