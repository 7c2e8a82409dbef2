// Queries and JSON that nobody should send: no crash, nothing left open, and who looks at a stream notices nothing.
//
//     GLPREVIEW_FUZZ_ROUNDS=20000 GLPREVIEW_FUZZ_SEED=7 swift test --filter FuzzTests
import FoundationEssentials
import GLPreview
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Random and invalid requests", .timeLimit(.minutes(15)))
struct FuzzTests {
  /// So many requests a test; with a seed of their own each.
  static let rounds = number("GLPREVIEW_FUZZ_ROUNDS") ?? 240
  static let seed = UInt64(number("GLPREVIEW_FUZZ_SEED") ?? 1)
  /// So many at a time.
  private static let lanes = 4

  private static func number(_ variable: String) -> Int? {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
  }

  static func configuration() -> ServerConfiguration {
    var locked = ServedView(ViewConfiguration(name: "locked"))
    locked.isLocked = true
    var camera = CameraConfiguration(
      source: "pattern:counter,size=160x90,fps=20",
      views: [ServedView(), ServedView(ViewConfiguration(name: "other")), locked])
    // On a starved machine it may be late, and /readyz is asked too.
    camera.isRequired = false
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.scenes = [
      SceneConfiguration(
        name: "scene", scene: Scene(size: Size(width: 160, height: 90), tiles: [Tile("camera")]))
    ]
    // What is drawn is small: here it is about what is asked, and not about pixels.
    configuration.limits.pixels = 320 * 180
    configuration.limits.requestsPerSecond = 100_000
    return configuration
  }

  /// Sends what `make` makes, several at a time, while somebody looks at a stream; then all is as it was before.
  private func fuzz(_ make: @escaping @Sendable (inout RequestFuzzer) -> [UInt8]) async throws {
    try await withService(Self.configuration()) { service in
      let spectator = try await Spectator(of: "/cameras/camera/main.mjpeg", "160x90", service)
      try await spectator.sees(1)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for lane in 0..<Self.lanes {
          group.addTask {
            var fuzzer = RequestFuzzer(random: SeededGenerator(seed: Self.seed &* 1000 &+ UInt64(lane)))
            for _ in 0..<Self.rounds / Self.lanes {
              let request = make(&fuzzer)
              let answer = try await RawAnswer.to(request, of: service)
              #expect(
                answer.isInOrder,
                "\(answer.status) to \(String(decoding: request.prefix(2000), as: UTF8.self))\n\(answer.fields)"
              )
            }
          }
        }
        try await group.waitForAll()
      }
      try await spectator.sees(3)
      #expect(spectator.mistakes.isEmpty)
      spectator.leave()
      try await Self.expectNothingLeft(in: service)
    }
  }

  /// Returns when no stream, no view and no connection is left that was not there at first.
  static func expectNothingLeft(in service: RunningService) async throws {
    let parts = service.inside
    await until { parts.streams.all.isEmpty && serverSockets(on: service.port) == 0 }
    #expect(parts.registry.session.allPreviews.count == 4)
  }

  @Test("random queries get well-formed responses and do not disturb a stream")
  func queries() async throws {
    try await fuzz { fuzzer in
      Array("GET \(fuzzer.target()) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8)
    }
  }

  @Test("random JSON bodies get well-formed responses and do not disturb a stream")
  func bodies() async throws {
    try await fuzz { fuzzer in
      let body = fuzzer.body()
      let line = fuzzer.random.oneOf([
        "PATCH /api/cameras/camera/views/other", "PATCH /api/cameras/camera/views/locked",
        "PATCH /api/cameras/scene/views/main", "POST /api/cameras/camera/snapshots",
        "POST /api/cameras/scene/snapshots", "POST /login", "PUT /api/cameras/camera", "DELETE /api/cameras",
      ])
      let head =
        "\(line) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.count)\r\n\r\n"
      return Array(head.utf8) + body
    }
  }
}
