// Bytes that are no HTTP, or HTTP as nobody writes it: what comes back, and that nothing stays.
import GLPreview
import TestSupport
import Testing

@testable import ServiceFoundation

@Suite("Raw HTTP requests", .timeLimit(.minutes(15)))
struct RawRequestTests {
  private static let host = "Host: 127.0.0.1\r\n"

  /// What each is, and whether the service has an answer: not to what is not whole.
  static let broken: [(name: String, text: String, isWhole: Bool)] = [
    ("nothing", "", false),
    ("half a line", "GET /snap", false),
    ("half a head", "GET /snapshot HTTP/1.1\r\nHost: 127", false),
    ("rubbish", "\u{1}\u{2}\u{3}\u{4}\r\n\r\n", true),
    ("TLS", "\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}\u{0}\u{0}\u{1}\u{3}\u{3}\r\n\r\n", true),
    ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true),
    ("no version", "GET /snapshot\r\n\r\n", true),
    ("another version", "GET /snapshot HTTP/9.9\r\n\(host)\r\n", true),
    ("another protocol", "DESCRIBE rtsp://127.0.0.1/ RTSP/1.0\r\nCSeq: 1\r\n\r\n", true),
    (
      "a field of 20 kB", "GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "x", count: 20_000))\r\n\r\n", true
    ),
    (
      "1000 fields",
      "GET / HTTP/1.1\r\n\(host)\((0..<1000).map { "X-\($0): 1\r\n" }.joined())\r\n", true
    ),
    ("a line of 100 kB", "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\n\(host)\r\n", true),
    ("a field without a name", "GET / HTTP/1.1\r\n\(host): x\r\n\r\n", true),
    ("a folded field", "GET / HTTP/1.1\r\n\(host)X: a\r\n b\r\n\r\n", true),
    ("a zero in a field", "GET / HTTP/1.1\r\n\(host)X: a\u{0}b\r\n\r\n", true),
    ("a length below zero", "POST /login HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", true),
    ("a length that is none", "POST /login HTTP/1.1\r\n\(host)Content-Length: x\r\n\r\n", true),
    (
      "two lengths", "POST /login HTTP/1.1\r\n\(host)Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", true
    ),
    (
      "a length and chunks",
      "POST /login HTTP/1.1\r\n\(host)Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true
    ),
    (
      "a length of all there is",
      "POST /login HTTP/1.1\r\n\(host)Content-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n{",
      true
    ),
    (
      "chunks without a size",
      "POST /login HTTP/1.1\r\n\(host)Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
      true
    ),
    (
      "a chunk of all there is",
      "POST /login HTTP/1.1\r\n\(host)Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "FFFFFFFFFFFFFFFFF\r\n{}\r\n", true
    ),
    (
      "half a body",
      "PATCH /api/cameras/camera/views/other HTTP/1.1\r\n\(host)Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{",
      false
    ),
    (
      "half a chunk",
      "PATCH /api/cameras/camera/views/other HTTP/1.1\r\n\(host)Content-Type: application/json\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n5\r\n{", false
    ),
    ("no method that there is", "BREW /snapshot HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", true),
    ("a tunnel", "CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n", true),
  ]

  @Test(
    "malformed requests return 4xx or 501, and a concurrent stream continues",
    arguments: broken.filter(\.isWhole).map(\.name))
  func refused(name: String) async throws {
    let text = try #require(Self.broken.first { $0.name == name }).text
    try await withService(FuzzTests.configuration()) { service in
      let spectator = try await Spectator(of: "/cameras/camera/main.mjpeg", "160x90", service)
      let connection = try await RawConnection(to: service.port, sending: "")
      // What is very long may be refused before it is all said, and the refusal be lost with the connection.
      let isLong = text.utf8.count > 8192

      do {
        try await connection.send(Array(text.utf8))
        try await connection.waits(for: "\r\n\r\n")
      } catch  where isLong {}

      let answer = connection.received
      #expect(
        answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 501") || isLong && answer.isEmpty,
        "\(answer)")

      try? await connection.close()
      try await spectator.sees(1)
      spectator.leave()
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test(
    "a connection with an incomplete request is closed after the idle timeout",
    arguments: broken.filter { !$0.isWhole }.map(\.name))
  func unfinished(name: String) async throws {
    let text = try #require(Self.broken.first { $0.name == name }).text
    var configuration = FuzzTests.configuration()
    configuration.limits.idleConnection = .milliseconds(300)

    try await withService(configuration) { service in
      let connection = try await RawConnection(to: service.port, sending: "")
      // On a slow machine it is let go of before it has said anything.
      try? await connection.send(Array(text.utf8))
      try await connection.waitsForEnd()

      #expect(
        connection.received.isEmpty || connection.received.hasPrefix("HTTP/1.1 4"), "\(connection.received)")
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test(
    "an HTTP/1.1 request without exactly one valid Host field returns 400 (RFC 9112, 3.2)",
    arguments: [
      "GET /snapshot HTTP/1.1\r\nConnection: close\r\n\r\n",
      "GET /snapshot HTTP/1.1\r\n\(host)Host: elsewhere\r\nConnection: close\r\n\r\n",
      "GET /snapshot HTTP/1.1\r\n\(host)\(host)Connection: close\r\n\r\n",
      "GET /snapshot HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
    ])
  func oneHost(text: String) async throws {
    try await withService(FuzzTests.configuration()) { service in
      let connection = try await RawConnection(to: service.port, sending: text)
      try await connection.waitsForEnd()
      #expect(connection.received.hasPrefix("HTTP/1.1 400"), "\(connection.received.prefix(100))")
      #expect(connection.received.contains("application/problem+json"))
    }
  }

  @Test(
    "a malformed body returns 400, and neither it nor a truncated body logs a failure",
    arguments: [
      "Transfer-Encoding: xchunked\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
      "Transfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n0\r\n\r\n", "Content-Length: 20\r\n\r\n{",
    ])
  func badBodies(rest: String) async throws {
    let records = LogRecords()
    try await withService(FuzzTests.configuration(), logger: records.logger) { service in
      let text =
        "POST /api/cameras/camera/snapshots HTTP/1.1\r\n\(Self.host)Content-Type: application/json\r\n" + rest
      let connection = try await RawConnection(to: service.port, sending: text)

      if rest.hasPrefix("Content-Length") {
        // It goes away in the middle.
        try await connection.close()
      } else {
        try await connection.waits(for: "\r\n\r\n")
        #expect(connection.received.hasPrefix("HTTP/1.1 400"), "\(connection.received.prefix(200))")
        try? await connection.close()
      }

      try await FuzzTests.expectNothingLeft(in: service)
    }

    #expect(!records.messages.contains("request failed"), "\(records.messages)")
  }

  @Test("a connection that keeps sending an unread body after the response is closed")
  func lingeringBytes() async throws {
    try await withService(FuzzTests.configuration()) { service in
      let connection = try await RawConnection(
        to: service.port,
        sending:
          "POST /nowhere HTTP/1.1\r\n\(Self.host)Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n"
      )
      try await connection.waits(for: "\r\n\r\n")

      // Until it is cut off, which fails the sending.
      await #expect(throws: (any Error).self) {
        for _ in 0..<10_000 { try await connection.send([UInt8](repeating: 0x20, count: 64 << 10)) }
      }
    }
  }

  // Nothing that a browser sends.
  @Test(
    "absolute-form and HTTP/1.0 requests return 200, and those for another host return 421",
    arguments: [
      // The host of the target counts (RFC 9112, 3.2.2).
      "GET http://127.0.0.1:80/snapshot HTTP/1.1\r\nHost: nowhere.example\r\nConnection: close\r\n\r\n",
      "GET http://127.0.0.1?action=snapshot HTTP/1.1\r\n\(host)Connection: close\r\n\r\n",
      "GET http://127.0.0.1/snapshot HTTP/1.0\r\nConnection: close\r\n\r\n",
      "GET /snapshot HTTP/1.0\r\nConnection: close\r\n\r\n",
    ])
  func lenient(text: String) async throws {
    try await withService(FuzzTests.configuration()) { service in
      #expect(try await RawAnswer.to(Array(text.utf8), of: service).status == 200)
      let elsewhere = text.replacing("127.0.0.1", with: "elsewhere.example")
      if elsewhere != text {
        #expect(try await RawAnswer.to(Array(elsewhere.utf8), of: service).status == 421)
      }
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test("1,000 pipelined requests on one connection are all answered in order")
  func pipelining() async throws {
    try await withService(FuzzTests.configuration()) { service in
      let connection = try await RawConnection(to: service.port, sending: "")
      let request = "GET /healthz HTTP/1.1\r\n\(Self.host)\r\n"
      let last = "GET /cameras/camera/main.jpg?width=10000 HTTP/1.1\r\n\(Self.host)Connection: close\r\n\r\n"

      try await connection.send(Array((String(repeating: request, count: 1000) + last).utf8))
      try await connection.waitsForEnd()

      let answers = connection.received.split(separator: "HTTP/1.1 ")
      #expect(answers.count == 1001)
      #expect(answers.dropLast().allSatisfy { $0.hasPrefix("200") })
      #expect(answers.last?.hasPrefix("400") == true)
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test("HEAD returns the status of GET without a body, even for endless streams")
  func head() async throws {
    try await withService(FuzzTests.configuration()) { service in
      for path in RequestFuzzer.paths {
        let connection = try await RawConnection(to: service.port, sending: "")
        let next = "GET /healthz HTTP/1.1\r\n\(Self.host)Connection: close\r\n\r\n"

        try await connection.send(Array("HEAD \(path) HTTP/1.1\r\n\(Self.host)\r\n\(next)".utf8))
        try await connection.waitsForEnd()
        let text = connection.received
        let end = try #require(text.firstRange(of: "\r\n\r\n"), "\(path)")
        let got = try await RawAnswer.to(
          Array("GET \(path) HTTP/1.1\r\n\(Self.host)Connection: close\r\n\r\n".utf8), of: service)

        #expect(text.hasPrefix("HTTP/1.1 \(got.status) "), "\(path): \(text.prefix(100))")
        // Behind the head there is the next answer, or the end.
        let rest = text[end.upperBound...]
        #expect(rest.isEmpty || rest.hasPrefix("HTTP/1.1 200 "), "\(path): \(rest.prefix(100))")
      }
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test(
    "unsupported or invalid request headers are ignored",
    arguments: [
      "Range: bytes=0-9", "Range: bytes=9-0,x", "Connection: Upgrade\r\nUpgrade: websocket",
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
      "TE: trailers", "Accept: text/html", "Accept-Encoding: br, gzip", "If-None-Match: \"",
      "If-None-Match: ,,,",
      "Cookie: =; a=b; \u{1F600}", "Authorization: Basic %%%", "Last-Event-ID: \u{FF}",
    ])
  func fields(line: String) async throws {
    try await withService(FuzzTests.configuration()) { service in
      let connection = try await RawConnection(to: service.port, sending: "")
      try await connection.send(
        Array("GET /snapshot HTTP/1.1\r\n\(Self.host)\(line)\r\n\r\n".utf8))
      try await connection.waits(for: "\r\n\r\n")

      #expect(connection.received.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(connection.received.prefix(200))")
      try? await connection.close()
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test(
    "a slow request head ends the connection after the idle timeout, even if fields keep coming"
  )
  func slowHead() async throws {
    var configuration = FuzzTests.configuration()
    configuration.limits.idleConnection = .milliseconds(300)

    try await withService(configuration) { service in
      // A slow machine may end a connection before its first bytes are sent: then another one is tried.
      var begun: RawConnection?
      await until {
        begun = try? await RawConnection(
          to: service.port, sending: "GET /snapshot HTTP/1.1\r\n\(Self.host)")
        return begun != nil
      }
      let connection = try #require(begun)

      let drip = Task {
        while !Task.isCancelled {
          try await connection.send(Array("X: 1\r\n".utf8))
          try await Task.sleep(for: .milliseconds(20))
        }
      }

      try await connection.waitsForEnd()
      drip.cancel()
      try await FuzzTests.expectNothingLeft(in: service)
    }
  }

  @Test("a request with `Expect: 100-continue` gets 100 Continue, then the final response")
  func continuing() async throws {
    try await withService(FuzzTests.configuration()) { service in
      let path = "/api/cameras/camera/views/other"
      let connection = try await RawConnection(
        to: service.port,
        sending:
          "PATCH \(path) HTTP/1.1\r\n\(Self.host)Content-Type: application/json\r\nContent-Length: 13\r\n"
          + "Expect: 100-continue\r\nConnection: close\r\n\r\n")

      try await connection.waits(for: "HTTP/1.1 100 Continue\r\n\r\n")
      try await connection.send(Array("{\"rotate\": 90}".utf8.prefix(13)))
      try await connection.waitsForEnd()

      #expect(connection.received.contains("HTTP/1.1 400 "))
    }
  }
}
