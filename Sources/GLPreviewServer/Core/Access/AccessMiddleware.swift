// Authenticates requests by token, password or login cookie, and checks their role.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// Admits authorised requests, and stores their role in the context.
///
/// Later middlewares and routes never see a token in a URL.
struct AccessMiddleware: ServiceMiddleware {
  let control: AccessControl

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    var context = context
    let needed = context.rule.role(for: request)
    let sender =
      if let granted = context.grantedRole { Sender(role: granted) } else if control.asksForCredentials {
        try sender(of: request, needed, context)
      } else { Sender(role: .control, credential: .notRequired) }
    // A peer sends the role of its own client, which may be lower than the peer's.
    context.role = sender.role.map { role in request.peerRole.map { role.includes($0) ? $0 : role } ?? role }
    if let needed {
      guard let role = context.role else { return try unauthorized(request, context) }
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
        try await next(request.withoutToken, context).carryingToken(of: request).holding(grant)
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

    /// A hash of the secret; nil if none was used.
    var secret: Int? { credential.flatMap { $0 == .notRequired ? nil : $0.hashValue } }
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

extension Request {
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
    guard case .everybodyWithoutQuery? = access else { return role(for: request.method) }
    // The router maps `//` to the same page.
    return request.uri.path == "/" && (request.uri.query ?? "").isEmpty ? nil : .read
  }
}
