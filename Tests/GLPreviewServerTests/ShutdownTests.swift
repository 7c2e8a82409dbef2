// The end of a service: who follows events, watches, or waits for a camera is told, and does not hold it up.
import AsyncHTTPClient
import GLPreview
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import RTSP
@testable import ServiceFoundation

@Suite("Shutdown of the service", .timeLimit(.minutes(15)))
struct ShutdownTests {
  private struct Serving: Service {
    let server: PreviewServer
    var parts: ServiceParts?
    func run() async throws {
      guard let parts else { return try await server.run() }
      try await server.run(parts)
    }
  }

  /// Ends a service as SIGTERM does, once `work` has returned; returns when it has ended by itself.
  private static func endAfter<Result: Sendable>(
    _ cameras: [CameraConfiguration], closing: Duration = allTheTimeThereIs,
    _ work: (_ base: String) async throws -> Result, afterwards: (Result) async throws -> Void = { _ in }
  ) async throws -> Result {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let (ports, told) = AsyncStream.makeStream(of: Int.self)
    var configuration = ServerConfiguration(cameras: cameras).patient()
    configuration.timeouts.closing = closing
    let server = PreviewServer(
      try ValidatedConfiguration(configuration), logger: logger, onRunning: { told.yield($0 ?? 0) })
    let group = ServiceGroup(services: [Serving(server: server)], logger: logger)
    let running = Task {
      defer { told.finish() }
      try await group.run()
    }
    var iterator = ports.makeAsyncIterator()
    let result: Result
    do {
      result = try await work("http://127.0.0.1:\(try #require(await iterator.next()))")
    } catch {
      running.cancel()
      throw error
    }
    await group.triggerGracefulShutdown()
    try await afterwards(result)
    try await running.value
    return result
  }

  private static func get(_ url: String) async throws -> HTTPClientResponse {
    try await HTTPClient.patient.execute(HTTPClientRequest(url: url), timeout: .hours(1))
  }

  @Test(
    "event streams and MP4 streams end cleanly at shutdown",
    arguments: hasEncoder ? ["/api/events", "/cameras/camera/main.mp4"] : ["/api/events"])
  func following(path: String) async throws {
    let reader = try await Self.endAfter([Self.large]) { base in
      let body = try await Self.get(base + path).body
      let (begun, first) = AsyncStream.makeStream(of: Void.self)
      let reader = Task {
        // Cut off in the middle it would throw.
        for try await _ in body { first.yield() }
      }
      for await _ in begun { break }
      return reader
    }

    try await reader.value
  }

  private static let large = CameraConfiguration(source: "pattern:counter,size=1280x720,fps=25")

  /// A WebSocket to the only camera, which plays `kind` if that is not empty.
  private static func socket(
    _ base: String, _ kind: String, isSmall: Bool = false
  ) async throws -> WebSocketPeer {
    let port = try #require(base.split(separator: ":").last.flatMap { Int($0) })
    let peer = try await WebSocketPeer(to: port, "/api/ws?src=camera&quality=100", isSmall: isSmall)
    if !kind.isEmpty {
      try await peer.send(#"{"type":"\#(kind)"}"#)
      await peer.waits { peer.frames.contains { $0.opcode == 2 } }
    }
    return peer
  }

  @Test(
    "a WebSocket is closed with code 1001 at shutdown, even if its client reads late",
    arguments: hasEncoder ? ["", "mjpeg", "mse"] : ["", "mjpeg"], [false, true])
  func webSockets(kind: String, isLate: Bool) async throws {
    let peer = try await Self.endAfter([Self.large]) { base in
      let peer = try await Self.socket(base, kind, isSmall: isLate)
      let other = try await Self.socket(base, "mjpeg")
      if isLate {
        try await peer.stopReading()
        // More than the sockets hold between two that read nothing.
        await other.waits { other.frames.count > 20 }
      }
      try await other.close()
      return peer
    } afterwards: { peer in
      if isLate { try await peer.readAgain() }
    }
    try await peer.waitsForEnd()
    #expect(peer.closingCode == 1001)
    #expect(peer.frames.last?.opcode == 8)
  }

  @Test("clients that read nothing do not block shutdown", arguments: ["ws", "mp4", "mjpeg", "peer"])
  func unread(how: String) async throws {
    guard hasEncoder || how != "mp4" else { return }
    // As another node asks.
    let path = how == "peer" ? "/api/stream?view=camera/main&" : "/cameras/camera/main.\(how)?"
    let fields = how == "peer" ? "X-GLPreview-Hop: 1\r\n" : ""
    let clients = try await Self.endAfter([Self.large], closing: .zero) { base in
      let port = try #require(base.split(separator: ":").last.flatMap { Int($0) })
      var (sockets, streams): ([WebSocketPeer], [RawConnection]) = ([], [])
      for _ in 0..<3 {
        if how == "ws" {
          sockets.append(try await Self.socket(base, "mjpeg", isSmall: true))
        } else {
          let request = "GET \(path)quality=100 HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
          streams.append(try await RawConnection(to: port, sending: request, isSmall: true))
          try await streams.last?.waits(for: "\r\n\r\n")
        }
      }
      for socket in sockets { try await socket.stopReading() }
      for stream in streams { try await stream.stopReading() }
      let other = try await Self.socket(base, "mjpeg")
      await other.waits { other.frames.count > 30 }
      try await other.close()
      return (sockets, streams)
    }
    for socket in clients.0 { try? await socket.close() }
    for stream in clients.1 { try? await stream.close() }
  }

  @Test(
    "clients that connect and disconnect meanwhile do not block shutdown", arguments: ["http", "rtsp"], 0..<5)
  func arriving(how: String, round: Int) async throws {
    var configuration = ServerConfiguration(cameras: [Self.large]).patient()
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let validated = try ValidatedConfiguration(configuration)
    let parts = try await ServiceParts(validated, logger: logger)
    let (ports, told) = AsyncStream.makeStream(of: Int.self)
    let server = PreviewServer(validated, logger: logger, onRunning: { told.yield($0 ?? 0) })
    let group = ServiceGroup(services: [Serving(server: server, parts: parts)], logger: logger)
    let running = Task { try await group.run() }
    var iterator = ports.makeAsyncIterator()
    let httpPort = try #require(await iterator.next())
    await until { parts.rtsp.port != nil }
    let port = how == "rtsp" ? try #require(parts.rtsp.port) : httpPort
    let request =
      how == "rtsp"
      ? "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n" : "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let answers = Watched(0)
    let clients = Task {
      await withDiscardingTaskGroup { group in
        for _ in 0..<12 {
          group.addTask {
            while !Task.isCancelled, let client = try? await RawConnection(to: port, sending: request) {
              if (try? await client.waits(for: "\r\n\r\n")) != nil { answers.update { $0 += 1 } }
              try? await client.close()
            }
          }
        }
      }
    }
    _ = try await answers.first { $0 > 50 ? true : nil }
    await group.triggerGracefulShutdown()
    try await running.value
    clients.cancel()
    await clients.value
  }

  @Test(
    "a request that waits for a camera to open returns 503 at shutdown",
    arguments: ["/cameras/camera/main.jpg?offline=error", "/cameras/camera/main.m3u8"])
  func waiting(path: String) async throws {
    var camera = CameraConfiguration(source: "exec:exec sleep 1000")
    camera.isRequired = false
    camera.options.live = .init(
      stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs, connectsWithin: allTheTimeThereIs)

    let reader = try await Self.endAfter([camera]) { base in
      let reader = Task { try await Self.get(base + path).status.code }
      // It waits for the camera when that is being opened.
      while true {
        let answer = try await Self.get(base + "/api/cameras").body.collect(upTo: 1 << 20)
        if String(buffer: answer).contains(#""state":"opening""#) { break }
      }
      return reader
    }

    #expect(try await reader.value == 503)
  }
}
