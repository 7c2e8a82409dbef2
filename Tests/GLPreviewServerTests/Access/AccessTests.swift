// Who is let in, to what, and what he is told who is not.
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Access")
struct AccessTests {
  private static let basic = ["Authorization": "Basic YW5uYTp3b3JkOndpdGg6Y29sb25z"]

  /// A token and a user of each role; anna's password is `word:with:colons`.
  private static var configuration: AccessConfiguration {
    var access = AccessConfiguration()
    access.tokens = [.init(secret: "look", role: .read), .init(secret: "change", role: .control)]
    access.users = [
      .init(name: "anna", password: "word:with:colons", role: .control),
      .init(name: "bert", password: "b", role: .read),
    ]
    return access
  }

  /// A service that answers with the role that it is told of, and the URL that it sees.
  private static func withService(
    _ configuration: AccessConfiguration = configuration, isSecure: Bool = false,
    clock: TestClock = TestClock(),
    _ test: @Sendable (any TestClientProtocol) async throws -> Void
  ) async throws {
    let control = AccessControl(configuration, now: { clock.now })
    let router = Router(context: ServiceContext.self)
    let routes = ServiceRoutes(router)
    let limits = LinkLimits(requestsPerSecond: 1000)
    router.add(
      middleware: AccessMiddleware(control: control, metrics: ServiceMetrics(), limits: limits))
    LoginRoutes(control: control, isSecure: isSecure).add(to: routes)
    let rules: KeyValuePairs<RouterPath, RouteRule> = [
      "/": RouteRule(access: .anyoneWithoutQuery, takesURLToken: true), "/healthz": .open,
      "/cameras/a/main.jpg": .pictures, "/api/cameras": RouteRule(), "/metrics": RouteRule(),
      "/snapshot": .pictures,
    ]
    for (path, rule) in rules {
      routes.get(path, rule, as: []) { request, context in
        let text = "\(context.role?.rawValue ?? "nobody") \(request.uri)"
        return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
      }
    }
    router.patch("/api/cameras/a/views/main") { _, context in context.role?.rawValue ?? "nobody" }
    try await Application(router: router).test(.router, test)
  }

  private static func fields(_ fields: [String: String]) throws -> HTTPFields {
    var result = HTTPFields()
    for (name, value) in fields { result[try #require(HTTPField.Name(name))] = value }
    return result
  }

  @Test(
    "a bearer token or password grants what its role allows; wrong credentials get 401",
    arguments: [
      (["Authorization": "Bearer look"], HTTPResponse.Status.ok, HTTPResponse.Status.forbidden),
      (["Authorization": "bearer  change"], .ok, .ok), (basic, .ok, .ok),
      (["Authorization": "Basic YmVydDpi"], .ok, .forbidden),
      // bert with anna's password; anna without; what is no base64; a user's password as a token.
      (["Authorization": "Basic YmVydDp3b3JkOndpdGg6Y29sb25z"], .unauthorized, .unauthorized),
      (["Authorization": "Basic YW5uYTo="], .unauthorized, .unauthorized),
      (["Authorization": "Basic ***"], .unauthorized, .unauthorized),
      (["Authorization": "Bearer b"], .unauthorized, .unauthorized),
      (["Authorization": "look"], .unauthorized, .unauthorized), ([:], .unauthorized, .unauthorized),
    ])
  func roles(
    said: [String: String], toLook: HTTPResponse.Status, toChange: HTTPResponse.Status
  ) async throws {
    let fields = try Self.fields(said)
    try await Self.withService { client in
      let look = try await client.execute(uri: "/api/cameras", method: .get, headers: fields)
      #expect(look.status == toLook)
      let change = try await client.execute(
        uri: "/api/cameras/a/views/main", method: .patch, headers: fields)
      #expect(change.status == toChange)
    }
  }

  @Test("public pages need no credentials; `/` with a query, API and unknown paths return 401")
  func openPages() async throws {
    try await Self.withService { client in
      for (uri, status) in [
        ("/", HTTPResponse.Status.ok), ("/healthz", .ok), ("/metrics", .unauthorized),
        ("/?action=snapshot", .unauthorized), ("/?%61ction=snapshot", .unauthorized),
        ("//", .unauthorized), ("/api/nothing", .unauthorized),
      ] {
        let answer = try await client.execute(uri: uri, method: .get)
        #expect(answer.status == status, "\(uri)")
      }
    }
  }

  @Test("a 401 response offers Bearer and Basic, and only Bearer to scripts and event streams")
  func challenge() async throws {
    try await Self.withService { client in
      let answer = try await client.execute(uri: "/api/cameras", method: .get)
      let challenges = answer.headers[values: .wwwAuthenticate]
      #expect(
        challenges == [#"Bearer realm="glpreview""#, #"Basic realm="glpreview", charset="UTF-8""#])
      #expect(answer.headers[.contentType] == "application/problem+json")

      let page = try await client.execute(
        uri: "/api/cameras", method: .get, headers: try Self.fields(["X-Requested-With": "dashboard"]))
      #expect(page.headers[values: .wwwAuthenticate] == [#"Bearer realm="glpreview""#])

      let events = try await client.execute(
        uri: "/api/events", method: .get, headers: try Self.fields(["Accept": "text/event-stream"]))
      #expect(events.headers[values: .wwwAuthenticate] == [#"Bearer realm="glpreview""#])
    }
  }

  @Test("a token in the URL is accepted for pictures only and removed from the URL that handlers see")
  func tokenInURL() async throws {
    try await Self.withService { client in
      for path in ["/cameras/a/main.jpg", "/snapshot", "/"] {
        let answer = try await client.execute(uri: "\(path)?w=3&token=look&h=2", method: .get)
        #expect(String(buffer: answer.body) == "read \(path)?w=3&h=2")
        let only = try await client.execute(uri: "\(path)?token=change", method: .get)
        #expect(String(buffer: only.body) == "control \(path)")
      }

      #expect(try await client.execute(uri: "/api/cameras?token=look", method: .get).status == .unauthorized)
      #expect(
        try await client.execute(uri: "/api/cameras/a/views/main?token=change", method: .patch).status
          == .unauthorized)
    }
  }

  @Test("every player path accepts a token in its URL, and other API paths return 401")
  func tokenPaths() async throws {
    var configuration = ServerConfiguration()
    configuration.access.tokens = [.init(secret: "look", role: .read)]
    // Refused, so that no stream begins, but not for want of a token.
    let query = "?token=look&width=x&types=x&limit=x"
    try await GLPreviewServerTests.withService(configuration) { service in
      for path in [
        "/?action=y&", "/cameras/camera/main.mjpeg", "/cameras/camera/main.mp4", "/snapshot", "/snapshot.jpg",
        "/stream", "/stream.mjpg", "/stream.mjpeg", "/api/frame.jpeg", "/api/stream", "/api/stream.mjpeg",
        "/api/stream.mp4", "/api/ws", "/recordings/camera/none.mp4",
      ] {
        let answer = try await service.get(path.contains("?") ? path + query.dropFirst() : path + query)
        #expect([400, 404].contains(answer.status), "\(path): \(answer.status)")
      }

      for path in [
        "/api/events", "/api/cameras/camera", "/api/recordings", "/metrics", "/state", "/cameras", "/streams",
      ] {
        #expect(try await service.get(path + query).status == 401, "\(path)")
      }
    }
  }

  @Test("URLToken redacts token values, whatever the case or escaping of the parameter name")
  func redaction() {
    #expect(URLToken.redacted("/stream?token=a%26b&w=3") == "/stream?token=***&w=3")
    #expect(
      URLToken.redacted("/stream?w=3&TOKEN=x&t%6fken=y&tokens=z")
        == "/stream?w=3&TOKEN=***&t%6fken=***&tokens=z")
    #expect(URLToken.redacted("/token=x") == "/token=x")
  }

  @Test("without credentials, or with insecure access, every client has the control role")
  func noCredentials() async throws {
    var insecure = Self.configuration
    insecure.isInsecure = true

    for configuration in [AccessConfiguration(), insecure] {
      try await Self.withService(configuration) { client in
        let answer = try await client.execute(uri: "/api/cameras/a/views/main", method: .patch)
        #expect(String(buffer: answer.body) == "control")
        let login = try await client.execute(uri: "/api/login", method: .post)
        #expect(login.status == .noContent)
      }
    }
  }

  @Test("after 10 failures in a minute untried passwords get 429; tokens, used passwords, logins work")
  func backOff() async throws {
    let clock = TestClock()
    try await Self.withService(clock: clock) { client in
      let cookie = try await Self.logIn(client, #"{"token": "look"}"#)
      #expect(
        try await client.execute(uri: "/api/cameras", method: .get, headers: Self.fields(Self.basic)).status
          == .ok)

      let wrong = try Self.fields(["Authorization": "Bearer wrong"])
      for _ in 0..<10 {
        #expect(
          try await client.execute(uri: "/api/cameras", method: .get, headers: wrong).status
            == .unauthorized)
      }

      // A right token is nobody's guess.
      let token = try Self.fields(["Authorization": "Bearer look"])
      #expect(try await client.execute(uri: "/api/cameras", method: .get, headers: token).status == .ok)
      let again = try await client.execute(uri: "/api/cameras", method: .get, headers: wrong)
      #expect(again.status == .tooManyRequests)

      // Anna's password was right before, Bert's was not: he may be guessing.
      let known = try await client.execute(
        uri: "/api/cameras", method: .get, headers: Self.fields(Self.basic))
      #expect(known.status == .ok)
      let right = try Self.fields(["Authorization": "Basic YmVydDpi"])
      let refused = try await client.execute(uri: "/api/cameras", method: .get, headers: right)
      #expect(refused.status == .tooManyRequests)
      #expect(refused.headers[.retryAfter] == "60")

      let login = try await client.execute(
        uri: "/api/login", method: .post, body: ByteBuffer(string: #"{"user": "bert", "password": "b"}"#))
      #expect(login.status == .tooManyRequests)

      let page = try await client.execute(
        uri: "/api/cameras", method: .get,
        headers: try Self.fields(["Authorization": "Bearer wrong", "Cookie": "\(cookie)"]))
      #expect(page.status == .ok)

      clock.advance(by: .seconds(60))
      #expect(try await client.execute(uri: "/api/cameras", method: .get, headers: right).status == .ok)
    }
  }

  @Test(
    "a login sets an HttpOnly, SameSite=Strict cookie that is valid for a week or until logout")
  func login() async throws {
    let clock = TestClock()
    try await Self.withService(isSecure: true, clock: clock) { client in
      let answer = try await client.execute(
        uri: "/api/login", method: .post,
        body: ByteBuffer(string: #"{"user": "bert", "password": "b"}"#))
      #expect(answer.status == .noContent)

      let field = try #require(answer.headers[.setCookie])
      #expect(field.hasSuffix("; HttpOnly; SameSite=Strict; Path=/; Max-Age=604800; Secure"))
      let cookie = try #require(field.split(separator: ";").first)
      #expect(cookie.hasPrefix("__Host-glpreview-"))
      #expect(cookie.drop { $0 != "=" }.count == 65)

      let fields = try Self.fields(["Cookie": "theme=dark; \(cookie)"])
      let look = try await client.execute(uri: "/api/cameras", method: .get, headers: fields)
      #expect(String(buffer: look.body).hasPrefix("read"))
      let change = try await client.execute(
        uri: "/api/cameras/a/views/main", method: .patch, headers: fields)
      #expect(change.status == .forbidden)

      clock.advance(by: LoginSessions.lifetime)
      #expect(
        try await client.execute(uri: "/api/cameras", method: .get, headers: fields).status == .unauthorized)

      let other = try Self.fields([
        "Cookie": "\(try await Self.logIn(client, #"{"token": "look"}"#))"
      ])
      #expect(try await client.execute(uri: "/api/cameras", method: .get, headers: other).status == .ok)

      let end = try await client.execute(uri: "/api/logout", method: .post, headers: other)
      #expect(end.status == .noContent)
      #expect(end.headers[.setCookie]?.contains("Max-Age=0") == true)
      #expect(
        try await client.execute(uri: "/api/cameras", method: .get, headers: other).status == .unauthorized)
    }
  }

  @Test(
    "the login cookie's name contains the port; behind a TLS proxy the cookie is Secure",
    arguments: [
      ("cams", [:], "glpreview-0", false), ("cams:8080", [:], "glpreview-8080", false),
      ("[::1]", [:], "glpreview-0", false), ("[::1]:81", [:], "glpreview-81", false),
      ("cams:8080", ["X-Forwarded-Proto": "https"], "__Host-glpreview-8080", true),
      ("cams", ["X-Forwarded-Proto": "HTTPS, http"], "__Host-glpreview-0", true),
      ("cams", ["X-Forwarded-Proto": "http, https"], "glpreview-0", false),
      ("cams", ["Forwarded": "for=1.2.3.4;proto=https, for=5.6.7.8;proto=http"], "__Host-glpreview-0", true),
    ])
  func cookies(host: String, fields: [String: String], name: String, isSecure: Bool) async throws {
    var head = HTTPRequest(
      method: .post, scheme: "http", authority: host, path: "/api/login",
      headerFields: try Self.fields(fields))

    let field = LoginCookie.field(
      "1", seconds: 2, for: Request(head: head, body: RequestBody(buffer: ByteBuffer())), usesTLS: false)

    #expect(field.hasPrefix("\(name)=1; "))
    #expect(field.hasSuffix("; Secure") == isSecure)

    head.headerFields[.cookie] = "glpreview-1=a; \(name)=b; __Host-glpreview-1=c"
    let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    #expect(LoginCookie.values(in: request) == ["b"])
  }

  @Test(
    "a malformed login returns 400, and one above 4 KiB returns 413",
    arguments: ["", "[]", "{}", #"{"user": "bert"}"#, String(repeating: " ", count: 5000)])
  func badLogin(body: String) async throws {
    try await Self.withService { client in
      let answer = try await client.execute(uri: "/api/login", method: .post, body: ByteBuffer(string: body))
      #expect(answer.status == (body.count > 4096 ? .contentTooLarge : .badRequest))
    }
  }

  @Test("removing a token ends the logins made with it and no others")
  func update() throws {
    let control = AccessControl(Self.configuration)
    let cookies = try ["change", "look"].map { secret in
      control.logIn(secret == "look" ? .read : .control, by: try #require(Self.credential(secret)))
    }

    var configuration = Self.configuration
    configuration.allowedHosts = ["a"]
    control.update(configuration)
    #expect(cookies.map { control.sessions.role(cookie: $0) } == [.control, .read])

    configuration.tokens.removeLast()
    control.update(configuration)
    #expect(cookies.map { control.sessions.role(cookie: $0) } == [nil, .read])
    #expect(try control.role(for: .local, .token("change")) == nil)
    // One that was checked before, and logs in afterwards.
    let late = control.logIn(.control, by: try #require(Self.credential("change")))
    #expect(control.sessions.role(cookie: late) == nil)
  }

  private static func credential(_ token: String) -> Credential? {
    PresentedCredentials.token(token).credential
  }

  @Test("grants of a login are revoked when it expires or newer logins evict it")
  func expiry() throws {
    let clock = TestClock()
    let control = AccessControl(Self.configuration, now: { clock.now })
    let credential = try #require(Self.credential("look"))
    let revoked = Watched<[String]>([])
    func open(_ name: String) throws -> ClientGrant {
      let login = Credential(cookie: control.logIn(.read, by: credential))
      return try control.grants.grant(login, .read) { revoked.update { $0.append(name) } }
    }
    let first = try open("first")
    clock.advance(by: LoginSessions.lifetime - .seconds(1))
    let second = try open("second")

    control.revokeLost()
    #expect(revoked.value == [] && first.isValid)
    clock.advance(by: .seconds(1))
    control.revokeLost()
    #expect(revoked.value == ["first"] && !first.isValid && second.isValid)

    for _ in 0..<1024 { _ = control.logIn(.read, by: credential) }
    control.revokeLost()
    #expect(revoked.value == ["first", "second"] && control.grants.count == 0)
  }

  @Test("a grant is revoked once its token no longer allows its role, and not after its release")
  func grants() throws {
    let control = AccessControl(Self.configuration)
    let credential = try #require(Self.credential("change"))
    let revoked = Watched(0)
    func grant() throws -> ClientGrant {
      try control.grants.grant(credential, .read) { revoked.update { $0 += 1 } }
    }
    let (low, high, released) = (try grant(), try grant(), try grant())
    try high.raise(to: .control)
    released.release()

    var configuration = Self.configuration
    configuration.tokens = [.init(secret: "change", role: .read)]
    control.update(configuration)
    #expect(revoked.value == 1 && low.isValid && !high.isValid)
    #expect(throws: Problem.needs(.control)) { try low.raise(to: .control) }
    configuration.tokens = []
    control.update(configuration)
    #expect(revoked.value == 2)
    #expect(throws: Problem.self) { try low.another(.read) {} }
    #expect(throws: Problem.self) { try grant() }
  }

  @Test("LoginSessions and FailedAttempts evict the oldest entry when full")
  func bounds() {
    let clock = TestClock()
    let sessions = LoginSessions(capacity: 2, now: { clock.now })
    let cookies = (0..<3).map { _ in
      clock.advance(by: .seconds(1))
      return sessions.begin(.read, by: .notRequired)
    }

    #expect(cookies.map { sessions.role(cookie: $0) } == [nil, .read, .read])

    let failures = FailedAttempts(capacity: 2, now: { clock.now })
    for address in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
      clock.advance(by: .seconds(1))
      for _ in 0..<10 { failures.add(ClientGroup(address)) }
    }

    #expect(failures.secondsToWait(ClientGroup("10.0.0.1")) == nil)
    #expect(failures.secondsToWait(ClientGroup("10.0.0.2")) == 59)
    #expect(failures.secondsToWait(ClientGroup("10.0.0.3")) == 60)
  }

  @Test("ClientGroup equates addresses of an IPv6 /64 and IPv4-mapped ones, but not link-local ones")
  func clients() {
    #expect(ClientGroup("2001:db8::1") == ClientGroup("2001:db8:0:0:ffff::2"))
    #expect(ClientGroup("2001:db8::1") != ClientGroup("2001:db8:0:1::1"))
    #expect(ClientGroup("fe80::1%eth0") != ClientGroup("fe80::2%eth0"))
    #expect(ClientGroup("::ffff:10.0.0.1") == ClientGroup("10.0.0.1"))
    #expect(ClientGroup("10.0.0.1") != ClientGroup("10.0.0.2"))
    #expect(ClientGroup("unix").isLocal)
  }

  private static func logIn(_ client: any TestClientProtocol, _ body: String) async throws -> Substring {
    let answer = try await client.execute(uri: "/api/login", method: .post, body: ByteBuffer(string: body))
    let cookie = try #require(answer.headers[.setCookie]?.split(separator: ";").first)
    return cookie
  }
}

/// A clock that goes when it is told to.
final class TestClock: Sendable {
  private let time = Mutex(CaptureInstant.second(1000))

  var now: CaptureInstant { time.withLock { $0 } }

  func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}
