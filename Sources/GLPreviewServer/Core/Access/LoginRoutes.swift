// The dashboard's login: exchanges a secret for a cookie that scripts can't read and other sites can't send.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// `POST /api/login` and `POST /api/logout`.
struct LoginRoutes: Sendable {
  private static let maximumBytes = 4096

  private struct Secret: Decodable {
    let token: String?
    let user: String?
    let password: String?

    var presented: PresentedCredentials {
      if let token { return .token(token) }
      guard let user, let password else { return .nothing }
      return .user(user, password: password)
    }
  }

  let control: AccessControl
  /// Whether the service itself uses TLS.
  let isSecure: Bool

  func add(to group: ServiceRoutes) {
    let secret = JSONSchema.object([
      .optional("token", .text), .optional("user", .text), .optional("password", .text),
    ])
    group.post(
      "api/login", .open,
      as: [
        .init(
          "logIn", "Exchanges a token, or a user name and password, for a cookie", body: .json(secret),
          answers: [.nothing("the cookie, if credentials are required")], problems: [.unauthorized])
      ]
    ) { request, context in try await logIn(request, context) }
    group.post(
      "api/logout", .open, as: [.init("logOut", "Ends a login", answers: [.nothing("the cookie is removed")])]
    ) { request, _ in logOut(request) }
  }

  private func logIn(_ request: Request, _ context: ServiceContext) async throws -> Response {
    guard control.asksForCredentials else { return Response(status: .noContent) }
    let secret = try await secret(in: request)
    guard let role = try role(secret.presented, request, context),
      let credential = secret.presented.credential
    else {
      context.logger.warning("wrong login", metadata: context.metadata(ofRefused: request))
      throw Problem(
        .unauthorized, "wrong token, or wrong user name or password",
        headers: ["WWW-Authenticate": #"Bearer realm="glpreview""#])
    }
    context.logger.info("login", metadata: ["client": "\(context.clientAddress)", "role": "\(role)"])
    return answer(
      request, cookie: control.logIn(role, by: credential),
      seconds: Int(LoginSessions.lifetime / .seconds(1)))
  }

  private func role(
    _ presented: PresentedCredentials, _ request: Request, _ context: ServiceContext
  ) throws(Problem) -> Role? {
    do throws(Problem) { return try control.role(for: context.client, presented) } catch {
      context.logger.notice("too many wrong credentials", metadata: context.metadata(ofRefused: request))
      throw error
    }
  }

  private func logOut(_ request: Request) -> Response {
    for cookie in LoginCookie.values(in: request) { control.sessions.end(cookie: cookie) }
    control.revokeLost()
    return answer(request, cookie: "", seconds: 0)
  }

  private func secret(in request: Request) async throws -> Secret {
    let buffer: ByteBuffer
    do {
      buffer = try await request.body.collect(upTo: Self.maximumBytes)
    } catch is NIOTooManyBytesError {
      throw Problem(.contentTooLarge, "a login request may have at most \(Self.maximumBytes) bytes")
    }
    let secret = try? JSONDecoder().decode(Secret.self, from: Data(buffer.readableBytesView))
    guard let secret, secret.token != nil || secret.user != nil && secret.password != nil else {
      throw Problem(
        .badRequest, #"a login request must be {"token": "..."} or {"user": "...", "password": "..."}"#)
    }
    return secret
  }

  private func answer(_ request: Request, cookie: String, seconds: Int) -> Response {
    var fields = HTTPFields()
    fields[.setCookie] = LoginCookie.field(cookie, seconds: seconds, for: request, usesTLS: isSecure)
    fields[.cacheControl] = "no-store"
    return Response(status: .noContent, headers: fields)
  }
}
