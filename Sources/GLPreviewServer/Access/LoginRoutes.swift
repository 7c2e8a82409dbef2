// The dashboard's login: a secret for a cookie that scripts can't read and other sites can't send.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// `POST /api/login` and `POST /api/logout`.
struct LoginRoutes: Sendable {
  /// The cookie's name.
  static let cookie = "glpreview"
  private static let maximumBytes = 4096

  private struct Secret: Decodable {
    let token: String?
    let user: String?
    let password: String?
  }

  let control: AccessControl
  /// Whether the cookie is sent over TLS only.
  let isSecure: Bool

  func add(to router: some RouterMethods<ServiceContext>) {
    router.post("/api/login") { request, context in try await logIn(request, context) }
    router.post("/api/logout") { request, _ in logOut(request) }
  }

  private func logIn(_ request: Request, _ context: ServiceContext) async throws -> Response {
    guard control.asksForCredentials else { return Response(status: .noContent) }
    let secret = try await secret(in: request)
    let role = try control.role(for: ClientGroup(context.clientAddress)) { credentials in
      if let token = secret.token { return credentials.role(token: token) }
      guard let user = secret.user, let password = secret.password else { return nil }
      return credentials.role(user: user, password: password)
    }
    guard let role else {
      context.logger.warning("wrong login", metadata: ["client": "\(context.clientAddress)"])
      throw Problem(
        .unauthorized, "no such token, or no such user with that password",
        headers: ["WWW-Authenticate": #"Bearer realm="glpreview""#])
    }
    context.logger.info("login", metadata: ["client": "\(context.clientAddress)", "role": "\(role)"])
    return answer(cookie: control.sessions.begin(role), seconds: Int(LoginSessions.lifetime / .seconds(1)))
  }

  private func logOut(_ request: Request) -> Response {
    if let cookie = request.cookies[Self.cookie] { control.sessions.end(cookie: cookie.value) }
    return answer(cookie: "", seconds: 0)
  }

  private func secret(in request: Request) async throws -> Secret {
    let buffer: ByteBuffer
    do {
      buffer = try await request.body.collect(upTo: Self.maximumBytes)
    } catch is NIOTooManyBytesError {
      throw Problem(.contentTooLarge, "a login has at most \(Self.maximumBytes) bytes")
    }
    let secret = try? JSONDecoder().decode(Secret.self, from: Data(buffer.readableBytesView))
    guard let secret, secret.token != nil || secret.user != nil && secret.password != nil else {
      throw Problem(.badRequest, #"a login is {"token": "..."} or {"user": "...", "password": "..."}"#)
    }
    return secret
  }

  private func answer(cookie: String, seconds: Int) -> Response {
    let secure = isSecure ? "; Secure" : ""
    var fields = HTTPFields()
    fields[.setCookie] =
      "\(Self.cookie)=\(cookie); HttpOnly; SameSite=Strict; Path=/; Max-Age=\(seconds)\(secure)"
    fields[.cacheControl] = "no-store"
    return Response(status: .noContent, headers: fields)
  }
}
