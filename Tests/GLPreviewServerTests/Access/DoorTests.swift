// What is refused before anybody is asked who he is: wrong hosts, pages of others, too much of anything.
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Checks before authentication", .timeLimit(.minutes(15)))
struct DoorTests {
  /// A service with everything in front of it, as it is put together.
  private static func withService(
    _ configuration: ServerConfiguration = ServerConfiguration(),
    _ test: @escaping @Sendable (LiveServer) async throws -> Void
  ) async throws {
    let router = Router(context: ServiceContext.self)
    let routes = ServiceRoutes(router)
    AccessMiddlewares(
      configuration: configuration, control: AccessControl(configuration.access),
      limiter: RateLimiter(requestsPerSecond: configuration.limits.requestsPerSecond),
      metrics: ServiceMetrics()
    ).add(to: router, routes)
    routes.get("/", RouteRule(access: .anyoneWithoutQuery), as: []) { _, _ in
      Response(status: .ok, headers: [.contentType: "text/html; charset=utf-8"])
    }
    router.get("/cameras/a/main.jpg") { _, _ in Response(status: .ok, headers: [.contentType: "image/jpeg"]) }
    router.get("/api/cameras") { _, _ in Response(json: ["cameras": 1]) }
    routes.get("/healthz", .open, as: []) { _, _ in Response(status: .ok) }
    router.get("/broken") { _, _ -> Response in throw TLSError("/secret/path") }
    router.patch("/api/views") { request, _ in
      "\(try await request.body.collect(upTo: .max).readableBytes)"
    }
    try await withServer(of: router, test)
  }

  /// The status line's code of an answer to a request that is written by hand.
  private static func status(
    _ client: LiveServer, _ line: String, _ fields: [String], body: String = ""
  ) async throws -> String {
    let head = ([line + " HTTP/1.1"] + fields + ["Content-Length: \(body.utf8.count)", "", ""])
      .joined(separator: "\r\n")
    let connection = try await RawConnection(to: client.port, sending: head + body)
    try await connection.waits(for: "\r\n\r\n")
    let words = connection.received.split(separator: " ")
    try await connection.close()
    return String(words[1])
  }

  @Test(
    "a service answers to local names, IP addresses and allowed hosts; others get 421 or 400",
    arguments: [
      ("localhost", "200"), ("LOCALHOST.:8080", "200"), ("cam.localhost", "200"), ("127.0.0.1:1", "200"),
      ("192.168.1.9", "200"), ("[::1]:8080", "200"), ("[2001:db8::1]", "200"), ("cams.example:81", "200"),
      ("evil.example", "421"), ("127.0.0.1.evil.example", "421"), ("[evil.example]", "421"),
      ("127.0.0.1:x@evil.example", "400"), ("127.0.0.1:.evil.example", "400"), ("[::1]evil.example", "400"),
      ("127.0.0.1@evil.example", "400"), ("localhost:80:80", "400"), ("[::1", "400"), ("", "400"),
      (":80", "400"),
      ("local host", "400"), ("localhost/", "400"), ("localhost\r\nHost: localhost", "400"),
      ("localhost\r\nHost: evil.example", "400"), ("localhost:", "200"), ("[fe80::1%25eth0]", "421"),
      ("localhost.evil", "421"), ("evillocalhost", "421"), ("cams.example.evil", "421"),
    ])
  func hosts(host: String, status: String) async throws {
    var configuration = ServerConfiguration()
    configuration.access.allowedHosts = ["Cams.example"]
    try await Self.withService(configuration) { client in
      let answer = try await Self.status(client, "GET /api/cameras", ["Host: \(host)"])
      #expect(answer == status)
    }
  }

  @Test("HostRule allows the bound and the machine's name; a Unix socket allows any name by default")
  func names() throws {
    let rule = HostRule(.host("Cam.lan", port: 80), machine: "Pi")
    func isAllowed(_ host: String, by rule: HostRule, or names: [String] = []) throws -> Bool {
      var configuration = AccessConfiguration()
      configuration.allowedHosts = names
      return rule.allows(try #require(HostName(host)), by: configuration)
    }

    for name in ["cam.lan:80", "pi", "pi.local:8080"] { #expect(try isAllowed(name, by: rule)) }
    #expect(try !isAllowed("cam", by: rule))
    #expect(try isAllowed("any.example", by: rule, or: ["*"]))
    #expect(try !isAllowed("pi.example.local", by: HostRule(.loopback, machine: "pi.example")))

    let socket = HostRule(.unix(path: "/run/s"), machine: nil)
    #expect(try isAllowed("cams.example", by: socket))
    #expect(try !isAllowed("evil.example", by: socket, or: ["cams.example"]))
    #expect(HostRule.machineName?.isEmpty == false)
  }

  @Test(
    "a change from a foreign origin returns 403, and reading is allowed",
    arguments: [
      ([], "200"), (["Origin: http://localhost"], "200"), (["Origin: http://localhost:80"], "200"),
      (["Origin: https://home.example"], "200"),
      (["Origin: https://home.example", "Sec-Fetch-Site: cross-site"], "200"),
      (["Origin: http://localhost", "Sec-Fetch-Site: same-origin"], "200"),
      (["Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"], "403"),
      (["Origin: http://evil.example"], "403"), (["Origin: null"], "403"), (["Origin: localhost"], "403"),
      (["Sec-Fetch-Site: cross-site"], "403"),
    ])
  func origins(fields: [String], status: String) async throws {
    var configuration = ServerConfiguration()
    configuration.access.allowedOrigins = ["https://home.example"]

    try await Self.withService(configuration) { client in
      let type = "Content-Type: application/json"
      let change = try await Self.status(
        client, "PATCH /api/views", ["Host: localhost", type] + fields, body: "{}")
      #expect(change == status)

      let look = try await Self.status(client, "GET /api/cameras", ["Host: localhost"] + fields)
      #expect(look == "200")
    }
  }

  @Test(
    "allowed origin `*` may only read, and a listed origin may also change"
  )
  func allOrigins() async throws {
    var configuration = ServerConfiguration()
    configuration.access.allowedOrigins = ["*", "https://home.example"]

    try await Self.withService(configuration) { client in
      func send(_ line: String, _ origin: String) async throws -> String {
        try await Self.status(
          client, line, ["Host: localhost", "Content-Type: application/json", "Origin: \(origin)"], body: "{}"
        )
      }

      #expect(try await send("PATCH /api/views", "https://evil.example") == "403")
      #expect(try await send("GET /api/cameras", "https://evil.example") == "200")
      #expect(try await send("PATCH /api/views", "https://home.example") == "200")

      for (origin, methods) in [
        ("https://evil.example", "GET, HEAD"),
        ("https://home.example", "GET, HEAD, POST, PUT, PATCH, DELETE"),
      ] {
        let answer = try await client.execute(
          uri: "/api/views", method: .options,
          headers: [.origin: origin, .accessControlRequestMethod: "PATCH"])
        #expect(answer.headers[.accessControlAllowMethods] == methods)
      }
    }
  }

  @Test("a route accepts a body of 500,000 bytes if the configured limit is 1 MiB")
  func largeBodies() async throws {
    var configuration = ServerConfiguration()
    configuration.limits.requestBytes = 1 << 20
    let router = Router(context: ServiceContext.self)
    let routes = ServiceRoutes(router)
    AccessMiddlewares(
      configuration: configuration, control: AccessControl(configuration.access),
      limiter: RateLimiter(requestsPerSecond: configuration.limits.requestsPerSecond),
      metrics: ServiceMetrics()
    ).add(to: router, routes)
    router.patch("/") { request, context in
      "\(try await request.body.collect(upTo: context.maxUploadSize).readableBytes)"
    }

    try await withServer(of: router) { client in
      let answer = try await client.execute(
        uri: "/", method: .patch, headers: [.contentType: "application/json"],
        body: ByteBuffer(repeating: 0x20, count: 500_000))
      #expect(String(buffer: answer.body) == "500000")
    }
  }

  @Test("a body that is not JSON returns 415, and one above the limit 413, also if chunked")
  func bodies() async throws {
    var configuration = ServerConfiguration()
    configuration.limits.requestBytes = 100

    try await Self.withService(configuration) { client in
      func send(_ type: String?, _ size: Int) async throws -> HTTPResponse.Status {
        var fields = HTTPFields()
        fields[.contentType] = type
        return try await client.execute(
          uri: "/api/views", method: .patch, headers: fields,
          body: ByteBuffer(repeating: 0x20, count: size)
        ).status
      }

      #expect(try await send("application/json; charset=utf-8", 100) == .ok)
      #expect(try await send("application/merge-patch+json", 2) == .ok)
      #expect(try await send("text/plain", 2) == .unsupportedMediaType)
      #expect(try await send("text/json+application/json", 2) == .unsupportedMediaType)
      #expect(try await send(nil, 2) == .unsupportedMediaType)
      #expect(try await send(nil, 0) == .ok)
      #expect(try await send("application/json", 101) == .contentTooLarge)

      for (size, status) in [(100, "200"), (101, "413")] {
        let chunk = "\(String(size, radix: 16))\r\n\(String(repeating: " ", count: size))\r\n0\r\n\r\n"
        let connection = try await RawConnection(
          to: client.port,
          sending: "PATCH /api/views HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n" + chunk)
        try await connection.waits(for: "\r\n\r\n")
        #expect(connection.received.hasPrefix("HTTP/1.1 \(status)"))
        try await connection.close()
      }
    }
  }

  @Test("only listed origins get CORS headers, on preflights and 401 responses too")
  func crossOrigin() async throws {
    var configuration = ServerConfiguration()
    configuration.access.allowedOrigins = ["https://home.example"]
    configuration.access.tokens = [.init(secret: "look", role: .read)]

    try await Self.withService(configuration) { client in
      let home: HTTPFields = [.origin: "https://home.example", .accessControlRequestMethod: "GET"]

      let asked = try await client.execute(uri: "/api/cameras", method: .options, headers: home)
      #expect(asked.status == .noContent)
      #expect(asked.headers[.accessControlAllowOrigin] == "https://home.example")
      #expect(asked.headers[.accessControlAllowHeaders]?.contains("Authorization") == true)
      #expect(asked.headers[.accessControlAllowCredentials] == nil)

      let refused = try await client.execute(uri: "/api/cameras", method: .get, headers: home)
      #expect(refused.status == .unauthorized)
      #expect(refused.headers[.accessControlAllowOrigin] == "https://home.example")
      #expect(refused.headers[.vary] == "Origin")

      let other: HTTPFields = [
        .origin: "https://home.example.evil", .accessControlRequestMethod: "GET",
        .authorization: "Bearer look",
      ]
      let read = try await client.execute(uri: "/api/cameras", method: .get, headers: other)
      #expect(read.status == .ok)
      #expect(read.headers[.accessControlAllowOrigin] == nil)

      let question = try await client.execute(uri: "/api/cameras", method: .options, headers: other)
      #expect(question.headers[.accessControlAllowOrigin] == nil)
    }

    try await Self.withService { client in
      let answer = try await client.execute(
        uri: "/api/cameras", method: .get, headers: [.origin: "https://home.example"])
      #expect(answer.headers[.accessControlAllowOrigin] == nil)
    }
  }

  @Test(
    "pages and JSON, also errors, have same-origin headers; pictures may be embedded anywhere")
  func securityHeaders() async throws {
    try await Self.withService { client in
      let page = try await client.execute(uri: "/", method: .get)
      #expect(page.headers[.contentSecurityPolicy]?.contains("script-src 'self'") == true)
      #expect(page.headers[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
      #expect(page.headers[.strictTransportSecurity] == nil)

      let picture = try await client.execute(uri: "/cameras/a/main.jpg", method: .get)
      #expect(picture.headers[.crossOriginResourcePolicy] == nil)
      #expect(picture.headers[.contentSecurityPolicy] == nil)
      #expect(picture.headers[.xContentTypeOptions] == "nosniff")

      for uri in ["/api/cameras", "/nothing", "/broken"] {
        let answer = try await client.execute(uri: uri, method: .get)
        #expect(answer.headers[.crossOriginResourcePolicy] == "same-origin")
        #expect(answer.headers[.xContentTypeOptions] == "nosniff")
        #expect(answer.headers[named: "Referrer-Policy"] == "no-referrer")
      }

      let lost = try await client.execute(uri: "/nothing", method: .get)
      #expect(lost.headers[.contentType] == "application/problem+json")

      let broken = try await client.execute(uri: "/broken", method: .get)
      #expect(broken.status == .internalServerError)
      #expect(!String(buffer: broken.body).contains("secret"))
    }
  }

  @Test("a client above its request rate gets 429 with Retry-After, and other clients do not")
  func rate() async throws {
    let clock = TestClock()
    let limiter = RateLimiter(requestsPerSecond: 2, capacity: 2, now: { clock.now })
    let (one, other) = (ClientGroup("10.0.0.1"), ClientGroup("10.0.0.2"))

    #expect((0..<6).map { _ in limiter.secondsToWait(one) } == [nil, nil, nil, nil, 1, 1])
    #expect((0..<3).map { _ in limiter.secondsToWait(other) } == [nil, nil, nil])

    clock.advance(by: .milliseconds(500))
    #expect((0..<2).map { _ in limiter.secondsToWait(one) } == [nil, 1])

    // Two more share a bucket, until one of the first is forgotten.
    let third = ClientGroup("10.0.0.3")
    #expect((0..<3).map { _ in limiter.secondsToWait(third) } == [nil, nil, nil])
    #expect((0..<2).map { _ in limiter.secondsToWait(ClientGroup("10.0.0.4")) } == [nil, 1])

    clock.advance(by: .seconds(10))
    #expect((0..<5).map { _ in limiter.secondsToWait(third) } == [nil, nil, nil, nil, 1])

    var configuration = ServerConfiguration()
    configuration.limits.requestsPerSecond = 0.001
    try await Self.withService(configuration) { client in
      for _ in 0..<2 { _ = try await client.execute(uri: "/api/cameras", method: .get) }
      let refused = try await client.execute(uri: "/api/cameras", method: .get)
      #expect(refused.status == .tooManyRequests)
      // Supervisors are counted by themselves.
      for status in [HTTPResponse.Status.ok, .ok, .tooManyRequests] {
        #expect(try await client.execute(uri: "/healthz", method: .get).status == status)
      }
      #expect(Int(refused.headers[.retryAfter] ?? "") ?? 0 > 900)
    }
  }

  @Test("AdmissionLimit of 2 throws 503 for a third entry and admits again after a release")
  func gate() throws {
    let gate = AdmissionLimit(capacity: 2)

    do {
      let passes = [try gate.enter(), try gate.enter()]
      let problem = #expect(throws: Problem.self) { try gate.enter() }
      #expect(problem?.status == .serviceUnavailable)
      #expect(problem?.headers["Retry-After"] == "1")
      withExtendedLifetime(passes) {}
    }

    #expect(gate.count == 0)
    _ = try gate.enter()
  }

  @Test(
    "a client has at most 2 connections, and a further one is accepted after one closes",
    .timeLimit(.minutes(15)))
  func connections() async throws {
    let limiter = ConnectionLimiter(connectionsPerClient: 2)
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        guard limiter.admits(channel) else { return channel.close() }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Greeting())
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)

    let first = try await RawConnection(to: port, sending: "")
    let second = try await RawConnection(to: port, sending: "")
    try await first.waits(for: "hello")
    try await second.waits(for: "hello")

    let third = try await RawConnection(to: port, sending: "")
    try await third.waitsForEnd()
    #expect(third.received.isEmpty)

    let client = ClientGroup("127.0.0.1")
    #expect(limiter.count(of: client) == 2)

    try await first.close()
    await until { limiter.count(of: client) == 1 }
    let fourth = try await RawConnection(to: port, sending: "")
    try await fourth.waits(for: "hello")

    try await second.close()
    try await fourth.close()
    try await server.close()
    await until { limiter.count(of: client) == 0 }
  }
}

/// Says hello to who connects.
private final class Greeting: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func channelActive(context: ChannelHandlerContext) {
    context.channel.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
  }
}
