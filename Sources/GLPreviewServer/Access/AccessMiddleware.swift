// Asks who sends a request, and whether he may: by token, by password, or by the cookie of a login.
internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// Lets through who may, and says in the context what he may do.
///
/// What comes after it never sees a token in a URL.
struct AccessMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let control: AccessControl

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    let rule = AccessRule.of(request.method, request.uri)
    let sender = control.asksForCredentials ? try sender(of: request, rule, context) : Sender(role: .control)
    context.role = sender.role
    switch (rule, context.role) {
    case (.everybody, _): break
    case (.role, nil): return try unauthorized(request, context)
    case (.role(let needed), let role?):
      guard role.includes(needed) else {
        throw Problem(.forbidden, "who is let in to look only may not do this: it needs the role 'control'")
      }
    }
    let client = RequestClient(address: ClientGroup(context.clientAddress), secret: sender.secret)
    return try await RequestClient.$current.withValue(client) {
      try await next(request.withoutToken, context)
    }
  }

  /// What a request proved: what its sender may do, and a hash of the one secret that showed it.
  private struct Sender {
    var role: Role?
    var secret: Int?
  }

  /// What the sender may do: the most that its cookie or its secret proves.
  private func sender(of request: Request, _ rule: AccessRule, _ context: ServiceContext) throws -> Sender {
    let known =
      LoginCookie.values(in: request).lazy.compactMap { cookie in
        control.sessions.role(cookie: cookie).map { Sender(role: $0, secret: cookie.hashValue) }
      }.first ?? Sender()
    // A browser goes on sending a password that it once knew: a login that is enough is all that is asked for.
    if case .role(let needed) = rule, let role = known.role, role.includes(needed) { return known }
    guard rule != .everybody, let proof = proof(in: request) else { return known }
    do throws(Problem) {
      if let role = try control.role(for: ClientGroup(context.clientAddress), proof) {
        return Sender(role: role, secret: proof.hashValue)
      }
    } catch {
      context.logger.notice("too many wrong credentials", metadata: ["client": "\(context.clientAddress)"])
      guard known.role == nil else { return known }
      throw error
    }
    context.logger.warning(
      "wrong credentials",
      metadata: [
        "client": "\(context.clientAddress)",
        "request": "\(request.method) \(URLToken.redacted(request.uri.string))",
      ])
    return known
  }

  /// How the request says who sends it; nil where it doesn't.
  private func proof(in request: Request) -> Proof? {
    if let authorization = request.headers[.authorization] { return Proof(authorization: authorization) }
    guard request.method == .get || request.method == .head, URLToken.isAccepted(at: request.uri.path)
    else { return nil }
    return URLToken.token(in: request.uri).map { .token($0) }
  }

  private func unauthorized(_ request: Request, _ context: ServiceContext) throws -> Response {
    let problem = Problem(
      .unauthorized,
      "this needs a token (Authorization: Bearer ..., or ?token= for pictures) or a user and password")
    var response = try problem.response(from: request, context: context)
    // One field each: browsers read no more than the first of several in one.
    response.headers.append(HTTPField(name: .wwwAuthenticate, value: #"Bearer realm="glpreview""#))
    // A page that asks by itself, as the dashboard, wants no box of the browser's over it. An EventSource can't say that it
    // is a page's, but nobody types its address.
    if request.headers[named: "X-Requested-With"] == nil, request.headers[.accept] != "text/event-stream" {
      response.headers.append(
        HTTPField(name: .wwwAuthenticate, value: #"Basic realm="glpreview", charset="UTF-8""#))
    }
    return response
  }
}

extension Request {
  /// The same without a token in its URL.
  fileprivate var withoutToken: Request {
    guard let path = head.path, path.contains("?") else { return self }
    let removed = URLToken.removed(from: path)
    guard removed != path else { return self }
    var head = head
    head.path = removed
    return Request(head: head, body: body)
  }
}
