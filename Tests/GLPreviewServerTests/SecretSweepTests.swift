// No secret leaves: a service with one of every kind in its configuration, all that can be asked of it, and all that it says.
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Secrets")
struct SecretSweepTests {
  /// In every secret, and in nothing else.
  private static let marker = "5ECRET"

  private static let yaml = """
    bind: 127.0.0.1:0
    access:
      tokens: [{token: 5ECRETread, role: read}, {token: 5ECRETcontrol, role: control}, {token-file: token}]
      users: [{name: ann, password: 5ECRETann, role: control}]
      link-keys: {mail: {secret: 5ECRETlink-0123456789abcdef0123456789}}
    cluster: {name: here, token: 5ECRETpeer, peers: ["http://127.0.0.1:1"]}
    cameras:
      good: {source: "pattern:counter,size=64x48,fps=20"}
      http: {source: "http://user:5ECRET1@127.0.0.1:1/snap?pwd=5ECRET2&channel=1#5ECRET3", headers: {Authorization: Bearer 5ECRET4}}
      http2: {source: "http://user:5ECRET@5ECRET:5/5ECRET?5ECRET@127.0.0.1:1/snap?k=5ECRET"}
      malformed: {source: "http://user:5ECRET@[::1/", headers: ["X-Key: 5ECRET"]}
      rtsp: {source: "rtsp://user:5ECRET5@127.0.0.1:1/live?user=5ECRET6&password=5ECRET7"}
      rtmp: {source: "rtmp://127.0.0.1:1/app/5ECRET8"}
      srt: {source: "srt://127.0.0.1:1?passphrase=5ECRET9000&streamid=5ECRET10&timeout=100"}
      exec: {source: "exec:sh -c 'exit 3' --pass 5ECRET11"}
      mistyped: {source: "user:5ECRET12@127.0.0.1/live"}
      upper: {source: "HTTP://5ECRET@127.0.0.1:1/"}
      echo: {source: "http://user:5ECRETecho@127.0.0.1:PORT/?token=5ECRETquery"}
    scenes:
      wall: {layout: "grid:size=64x48", tiles: [http, rtsp]}
    snapshots:
      webhook: {url: "http://user:5ECRET13@127.0.0.1:1/hook?key=5ECRET14", secret: 5ECRET15, attempts: 1}
    """

  /// What a logger was told, as lines, from trace on.
  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func logger(_ format: LogFormat) -> Logger {
      Logger(label: "test") { label in
        var handler = LineLogHandler(
          label: label, format: format, write: { line in self.lines.withLock { $0.append(line) } })
        handler.logLevel = .trace
        return handler
      }
    }
  }

  @Test(
    "no response, event, metric or log line contains a secret of the configuration", .timeLimit(.minutes(15)))
  func sweep() async throws {
    let folder = try ConfigurationFolder()
    try folder.write("5ECRETfile\n", to: "token")
    let echo = try await EchoServer(
      saying: "HTTP/1.1 500 no 5ECRETquery for 5ECRETecho\r\nContent-Length: 0\r\n\r\n")
    let configuration = try folder.load(Self.yaml.replacing("PORT", with: "\(echo.port)")).configuration
    let lines = Lines()
    let answers = Mutex<[String: String]>([:])

    try await withService(configuration, logger: lines.logger(.text)) { service in
      let authorization = "Authorization: Bearer 5ECRETcontrol"
      func ask(_ line: String, _ fields: [String] = [authorization], body: String = "") async throws -> String
      {
        let head = ([line + " HTTP/1.1", "Host: 127.0.0.1", "Connection: close"] + fields).joined(
          separator: "\r\n")
        let length =
          body.isEmpty ? "" : "\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)"
        let connection = try await RawConnection(to: service.port, sending: head + length + "\r\n\r\n" + body)
        try await connection.waits(for: "\r\n\r\n")
        let isEndless = ["multipart/", "text/event-stream", "video/mp4"].contains {
          connection.received.contains($0)
        }
        if isEndless { try? await connection.close() } else { try await connection.waitsForEnd() }
        return connection.received
      }

      let events = try await RawConnection(
        to: service.port,
        sending: "GET /api/events?last_event_id=x-0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)\r\n\r\n")
      // Each way in which a camera can't be had has been gone to its end.
      let failing = Set(configuration.cameras.map(\.name)).subtracting(["good"])
      await until {
        failing.isSubset(of: Set(service.inside.watch.failing.map(\.camera)))
          && failing.allSatisfy { service.inside.watch.report(of: $0).reason != nil }
      }

      let routes = service.inside.router().routes.filter { $0.method == .get }.map { "\($0.path)" }
      #expect(routes.count > 15)
      for route in routes {
        for camera in configuration.cameras.map(\.name) + ["wall", "nobody"] {
          for file in camera == "http" ? ["main.jpg", "main.png", "main.mjpeg", "main.mp4"] : ["main.jpg"] {
            let path = route.replacing(":camera", with: camera).replacing(":file", with: file)
              .replacing("{camera}", with: camera).replacing("{file}", with: file)
            guard answers.withLock({ $0[path] }) == nil else { continue }
            let answer = try await ask("GET \(path)")
            answers.withLock { $0[path] = answer }
          }
        }
      }

      for (number, wrong) in ["Bearer 5ECRETwrong", "Basic NUVDUkVUOjVFQ1JFVA==", "Bearer"].enumerated() {
        let answer = try await ask("GET /api/cameras?token=5ECRETurl", ["Authorization: \(wrong)"])
        answers.withLock { $0["wrong \(number)"] = answer }
      }

      for (line, body) in [
        ("POST /api/login", #"{"user": "ann", "password": "5ECRETwrong"}"#),
        ("POST /api/login", #"{"token": "5ECRETcontrol"}"#),
        ("POST /api/cameras/good/snapshots", "{}"), ("POST /api/cameras/http/snapshots", "{}"),
        ("POST /api/snapshots", "{}"), ("PATCH /api/cameras/http/views/main", #"{"fps": 3}"#),
        ("PATCH /api/cameras/http/controls", #"{"exposure": 3}"#),
        ("GET /snapshot.jpg?camera=http&token=5ECRETcontrol", ""),
      ] {
        let answer = try await ask(line, line.hasPrefix("GET") ? [] : [authorization], body: body)
        answers.withLock { $0[line + body] = answer }
      }

      // The webhook fails, and says so.
      await until { lines.all.contains(where: { $0.contains("webhook") }) }
      try await events.waits(for: "rtsp")
      answers.withLock { $0["events"] = events.received }
      try? await events.close()
    }
    try await echo.end()

    for (path, answer) in answers.withLock({ $0 }) {
      #expect(!answer.contains(Self.marker), "\(path): \(answer.prefix(2000))")
    }
    for line in lines.all { #expect(!line.contains(Self.marker), "\(line)") }

    let cameras = try #require(answers.withLock { $0["/api/cameras"] })
    for shown in [
      "http://***@127.0.0.1:1/snap?pwd=***&channel=1", "exec:sh ...", "rtmp://127.0.0.1:1/app/***",
    ] {
      #expect(cameras.replacing("\\/", with: "/").contains(shown), "\(shown)")
    }
  }

  @Test(
    "configuration errors are reported without the secrets in the configuration",
    arguments: [
      "cameras: {a: \"http://user:5ECRET@host/\"}", "cameras: {a: {\"rtsp://user:5ECRET@host/\": 1}}",
      "cameras: {a: {source: [\"rtsp://user:5ECRET@host/\"]}}",
      "cameras: {a: {source: x, headers: [5ECRET]}}", "cameras: {a: {source: x, headers: {A: [5ECRET]}}}",
      "access: {tokens: [{token: \"5ECRET 5ECRET\"}]}", "access: {tokens: [{token-file: 5ECRET}]}",
      "access: {tokens: [{token: 5ECRET, token-file: 5ECRET}]}",
      "access: {tokens: [{token: 5ECRET, role: \"${SECRET}\"}]}",
      "access: {users: [{name: \"${SECRET}:x\", password: 5ECRET}]}", "access: {users: [{password: 5ECRET}]}",
      "access: {origins: \"${SECRET}\"}", "access: {hosts: [\"a/${SECRET}\"]}", "bind: \"${SECRET}:x:y\"",
      "limits: {connections: \"${SECRET}\"}",
      "snapshots: {webhook: {url: \"ftp://user:5ECRET@host/?k=5ECRET\"}}",
      "snapshots: {webhook: {url: \"http://user:5ECRET@host/\", secret: 5ECRET, attempts: \"${SECRET}\"}}",
      "cameras: {a: {source: \"rtsp://user:5ECRET@host/\", masks: [\"${SECRET}\"], size: \"${SECRET}\"}}",
    ])
  func mistakes(text: String) throws {
    let problems = try ConfigurationFolder().problems(text, environment: ["SECRET": "5ECRETvariable"])
    #expect(!problems.isEmpty && !problems.joined().contains(Self.marker), "\(problems)")
  }

  @Test("a printed configuration shows no secrets")
  func printed() throws {
    let folder = try ConfigurationFolder()
    try folder.write("5ECRETfile\n", to: "token")
    let configuration = try folder.load(Self.yaml.replacing("PORT", with: "1"))
    for text in ["\(configuration)", String(describing: configuration), String(reflecting: configuration)] {
      #expect(!text.contains(Self.marker), "\(text)")
    }
  }

  @Test("secrets are masked in the process arguments that other users of the machine see")
  func arguments() {
    #expect(
      ProcessArguments.shown([
        "glpreview", "serve", "http://user:5ECRET@host/?k=5ECRET", "--token", "5ECRET", "--token=5ECRET",
        "--user",
        "ann:5ECRET", "--device=rtsp://user:5ECRET@host/", "ann=exec:cam --key 5ECRET", "--header",
        "A: 5ECRET",
        "exec:cam 5ECRET", "--view", "main:size=64x48", "/dev/video0", "--bind=127.0.0.1:0",
      ]) == [
        "glpreview", "serve", "http://***@host/?k=***", "--token", "***", "--token=***", "--user", "***",
        "--device=rtsp://***@host/", "ann=exec:cam ...", "--header", "***", "exec:cam ...", "--view",
        "main:size=64x48",
        "/dev/video0", "--bind=127.0.0.1:0",
      ])
  }
}

/// A server on loopback that says one thing to everything.
private struct EchoServer {
  let port: Int
  private let channel: any Channel

  init(saying text: String) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Answer(text: text))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = try #require(channel.localAddress?.port)
  }

  func end() async throws { try await channel.close() }

  private final class Answer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    let text: String

    init(text: String) { self.text = text }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
  }
}
