// Authenticates requests by token, password or login cookie, and checks their role.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Synchronization

/// Admits authorised requests, and stores their role in the context.
///
/// Later middlewares and routes never see a token or a signature in a URL.
struct AccessMiddleware: ServiceMiddleware {
  let control: AccessControl
  let metrics: ServiceMetrics
  /// Counts requests by links.
  let limits: LinkLimits

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    var context = context
    let needed = context.rule.role(for: request)
    let link = try link(of: request, context)
    let sender =
      if let link {
        Sender(role: .read, credential: .link(link.right))
      } else if let granted = context.grantedRole { Sender(role: granted) } else if control.asksForCredentials
      {
        try sender(of: request, needed, context)
      } else { Sender(role: .control, credential: .notRequired) }
    // A peer sends the role of its own client, which may be lower than the peer's.
    context.role = sender.role.map { role in request.peerRole.map { role.includes($0) ? $0 : role } ?? role }
    if let needed {
      guard let role = context.role else {
        guard SignedLink(request.uri.string) == nil else { throw Problem.wrongLink }
        return try unauthorized(request, context)
      }
      guard role.includes(needed) else { throw Problem.needs(needed) }
      let (channel, site) = (context.channel, context.site)
      context.grant = try sender.credential.map { credential throws(Problem) in
        try control.grants.grant(credential, at: site, needed) { channel?.reset() }
      }
    }
    let grant = context.grant
    do {
      let client = RequestClient(address: context.client, secret: sender.secret)
      return try await RequestClient.$current.withValue(client) {
        guard let link else {
          return try await next(request.withoutToken, context).carryingToken(of: request).holding(grant)
        }
        return try await next(request.withoutLink, context).signed(as: link, request.uri.path).holding(grant)
      }
    } catch {
      grant?.release()
      throw error
    }
  }

  /// The role that a request proved, and its credential.
  private struct Sender {
    var role: Role?
    /// Nil for requests through NATS, which are already authenticated, and without a valid secret.
    var credential: Credential?

    /// A hash of the secret; nil if none was used. All links by a key have the key's.
    var secret: Int? {
      switch credential {
      case nil, .notRequired: nil
      case .link(let right): right.key.hashValue
      case .some(let credential): credential.hashValue
      }
    }
  }

  // MARK: Links

  /// Returns what a link allows; nil for other requests. A link alone decides: other credentials of the request have no
  /// effect, so that all clients see the same.
  ///
  /// - Throws: a `Problem` with status 403 for a link that is not valid; 429 after too many requests by its key.
  private func link(of request: Request, _ context: ServiceContext) throws(Problem) -> AcceptedLink? {
    guard context.rule.takesLink, let link = SignedLink(request.uri.string) else { return nil }
    let key: LinkKey
    let right: LinkRight
    do throws(Problem) {
      (key, right) = try control.right(
        of: link, to: context.parameters.get("camera"), for: context.client)
      if context.rule.linkNeedsEvent { try LinkedPath(request.uri.path)?.check(orRefuse: request.uri.string) }
    } catch {
      let name = control.name(ofKeyOf: link)
      // No one guesses by links of a key that is gone.
      let isWrong = error == .wrongLink && !name.isEmpty
      metrics.count(.link(key: name, error == .wrongLink ? .wrong : .refused))
      var metadata = context.metadata(ofRefused: request)
      if !isWrong { metadata["reason"] = "\(error.detail)" }
      context.logger.log(
        level: isWrong ? .warning : .info, isWrong ? "wrong credentials" : "link refused", metadata: metadata)
      throw error
    }
    if let seconds = limits.secondsToWait(key.name, context.client) {
      metrics.count(.link(key: key.name, .limited))
      throw .busy(
        .tooManyRequests, "too many requests by links of the key '\(key.name)'", retryAfter: seconds)
    }
    metrics.count(.link(key: key.name, .accepted))
    return AcceptedLink(key: key, right: right)
  }

  /// Returns the sender's role: the highest that its cookie or its secret proves.
  private func sender(of request: Request, _ needed: Role?, _ context: ServiceContext) throws -> Sender {
    let known =
      LoginCookie.values(in: request).lazy.compactMap { cookie in
        control.sessions.role(cookie: cookie).map { Sender(role: $0, credential: Credential(cookie: cookie)) }
      }.first ?? Sender()
    // Browsers keep sending a password once they know it, so a sufficient login is checked first.
    if let needed, let role = known.role, role.includes(needed) { return known }
    guard needed != nil, let presented = presentedCredentials(in: request, context.rule) else {
      return known
    }
    do throws(Problem) {
      if let role = try control.role(for: context.client, presented) {
        return Sender(role: role, credential: presented.credential)
      }
    } catch {
      context.logger.notice("too many wrong credentials", metadata: context.metadata(ofRefused: request))
      guard known.role == nil else { return known }
      throw error
    }
    context.logger.warning("wrong credentials", metadata: context.metadata(ofRefused: request))
    return known
  }

  /// Returns the credentials of a request; nil if it has none.
  private func presentedCredentials(in request: Request, _ rule: RouteRule) -> PresentedCredentials? {
    if let authorization = request.headers[.authorization] {
      return PresentedCredentials(authorization: authorization)
    }
    guard request.method == .get || request.method == .head, rule.takesURLToken else { return nil }
    return URLToken.token(in: request.uri).map { .token($0) }
  }

  private func unauthorized(_ request: Request, _ context: ServiceContext) throws -> Response {
    let problem = Problem(
      .unauthorized,
      "a token (Authorization: Bearer ..., or ?token= for pictures) or a user name and password is required"
    )
    var response = try problem.response(from: request, context: context)
    // One header field per scheme, because browsers read only the first scheme in a field.
    response.headers.append(HTTPField(name: .wwwAuthenticate, value: #"Bearer realm="glpreview""#))
    // Pages that log in themselves, like the dashboard, must not trigger the browser's password dialog. An
    // EventSource can't send X-Requested-With, but users don't open its URL in a browser.
    if request.headers[named: "X-Requested-With"] == nil, request.headers[.accept] != "text/event-stream" {
      response.headers.append(
        HTTPField(name: .wwwAuthenticate, value: #"Basic realm="glpreview", charset="UTF-8""#))
    }
    return response
  }
}

/// A link that was accepted.
struct AcceptedLink {
  let key: LinkKey
  let right: LinkRight
}

extension Problem {
  /// 403 for a link that no key has signed like this.
  static let wrongLink = Problem(
    .forbidden,
    "this link is not valid: it was changed, its key is not in use, or it is asked for by another method than GET"
  )
}

extension LinkedPath {
  fileprivate func check(orRefuse url: String) throws(Problem) {
    do throws(ParameterError) { try check(url) } catch { throw Problem(.forbidden, error.reason) }
  }
}

/// The requests per second by all links of a key together, and by one client of them, which leaves room for others.
struct LinkLimits: Sendable {
  private let keys: RateLimiter
  private let clients: RateLimiter

  init(requestsPerSecond rate: Double, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    keys = RateLimiter(requestsPerSecond: rate, now: now)
    clients = RateLimiter(requestsPerSecond: rate / 4, now: now)
  }

  /// Counts a request. Returns nil if it is allowed; otherwise the seconds until the next one is.
  func secondsToWait(_ key: String, _ client: ClientGroup) -> Int? {
    // All clients of a proxy come through a Unix socket.
    let own = client.isLocal ? nil : clients.secondsToWait(.key(key, client))
    return own ?? keys.secondsToWait(.key(key))
  }
}

extension Response {
  /// Returns the answer; in a playlist, each URI is signed like the link by which the playlist was requested.
  func signed(as link: AcceptedLink, _ path: String) throws -> Response {
    guard headers[.contentType] == Self.playlist else { return self }
    var response = self
    response.headers[.contentLength] = nil
    // Another node's answer comes in parts, between which a URI may be divided.
    response.body = ResponseBody { [body] writer in
      let collector = PlaylistCollector()
      try await body.write(collector)
      let signed = try link.signed(playlist: String(buffer: collector.bytes.withLock { $0 }), at: path)
      try await writer.write(ByteBuffer(string: signed))
      try await writer.finish(nil)
    }
    return response
  }
}

/// Collects a body that is to be changed as a whole.
private final class PlaylistCollector: ResponseBodyWriter, Sendable {
  let bytes = Mutex(ByteBuffer())

  private static let longest = 1 << 20

  func write(_ buffer: ByteBuffer) async throws {
    try bytes.withLock { bytes in
      guard bytes.readableBytes + buffer.readableBytes <= Self.longest else {
        throw Problem(.badGateway, "a playlist is longer than \(Self.longest) bytes")
      }
      bytes.writeImmutableBuffer(buffer)
    }
  }

  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension AcceptedLink {
  /// Returns a playlist with signed URIs. Each URI has a question mark, and no other text has one.
  fileprivate func signed(playlist: String, at path: String) throws -> String {
    let base = path[..<(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)]
    func signed(_ uri: Substring) throws -> String {
      let url = try SignedLink.signed(String(base) + uri, by: key, until: right.expiry)
      return String(url.dropFirst(base.count))
    }
    return try playlist.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.contains("?") else { return String(line) }
      guard let start = line.firstIndex(of: "\"").map(line.index(after:)),
        let end = line[start...].firstIndex(of: "\"")
      else { return try signed(line) }
      return String(line[..<start]) + (try signed(line[start..<end])) + String(line[end...])
    }.joined(separator: "\n")
  }
}

extension Request {
  /// The request without the parameters of a link, which was accepted.
  fileprivate var withoutLink: Request {
    at(uri.path, with: SignedLink.removed(from: uri.query ?? ""))
  }

  /// The request without a token in its URL.
  fileprivate var withoutToken: Request {
    guard let path = head.path, path.contains("?") else { return self }
    let removed = URLToken.removed(from: path)
    guard removed != path else { return self }
    var head = head
    head.path = removed
    return Request(head: head, body: body)
  }
}

extension ServiceContext {
  /// Returns the log fields of a refused client. All protocols log the same fields, for fail2ban and similar
  /// tools.
  func metadata(ofRefused request: Request) -> Logger.Metadata {
    ["client": "\(clientAddress)", "request": "\(request.method) \(URLToken.redacted(request.uri.string))"]
  }
}

extension RouteRule {
  /// Returns the role that `request` needs; nil for none.
  fileprivate func role(for request: Request) -> Role? {
    guard case .anyoneWithoutQuery? = access else { return role(for: request.method) }
    // The router maps `//` to the same page.
    return request.uri.path == "/" && (request.uri.query ?? "").isEmpty ? nil : .read
  }
}
