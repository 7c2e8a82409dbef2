// The end of a service: who follows events, watches, or waits for a camera is told, and does not hold it up.
import AsyncHTTPClient
import GLPreview
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Testing

@testable import GLPreviewServer

@Suite("The end of a service")
struct ShutdownTests {
  private struct Serving: Service {
    let server: PreviewServer
    func run() async throws { try await server.run() }
  }

  /// Ends a service as SIGTERM does, once `work` has returned; returns when it has ended by itself.
  private static func endAfter<Result: Sendable>(
    _ cameras: [CameraConfiguration], _ work: (_ base: String) async throws -> Result
  ) async throws -> Result {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let (ports, told) = AsyncStream.makeStream(of: Int.self)
    let configuration = ServerConfiguration(cameras: cameras).patient()
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
    try await running.value
    return result
  }

  private static func get(_ url: String) async throws -> HTTPClientResponse {
    try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .hours(1))
  }

  @Test("who follows events is told that there are no more")
  func events() async throws {
    let reader = try await Self.endAfter(StreamTests.configuration().cameras) { base in
      let body = try await Self.get(base + "/api/events").body
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

  @Test("who waits for a picture that does not come is answered")
  func waiting() async throws {
    var camera = CameraConfiguration(source: "exec:exec sleep 1000")
    camera.isRequired = false
    camera.options.live.stallsAfter = allTheTimeThereIs

    let reader = try await Self.endAfter([camera]) { base in
      let path = "/cameras/camera/main.jpg?offline=error"
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
