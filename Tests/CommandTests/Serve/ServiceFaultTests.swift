// What befalls a service from outside: it is killed in the midst of writing, it has too few descriptors, clients come and go.
import Foundation
import GLPreview
import TestSupport
import Testing

@Suite("A service that is killed")
struct KilledServiceTests {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Benchmarks/Service/kill-writes").path
  private static let python = OtherProgram("python3")
  /// The script is not in every place that tests are run in.
  private static let canRun = python != nil && FileManager.default.fileExists(atPath: script)

  private struct Counts: Decodable {
    let kills: Int
    let taken: Int
    let files: Int
    let torn: Int
    let left_over: Int
  }

  @Test(
    "a killed service leaves no truncated picture, and the next start removes partial files",
    .enabled(if: canRun, "needs python3 and Benchmarks/Service/kill-writes"), .timeLimit(.minutes(15)))
  func writes() async throws {
    let folder = try TestFolder()
    let result = try await #require(Self.python).run(
      [Self.script, "--kills", "3", "--glpreview", RunningCommand.executable], in: folder)
    #expect(result.status == 0, "\(result.errors)")
    let counts = try JSONDecoder().decode(Counts.self, from: Data(result.output))
    #expect(counts.kills == 3 && counts.taken >= 3 && counts.torn == 0 && counts.left_over == 0)
    #expect(counts.files > 0)
  }
}

@Suite("A service with few file descriptors", .timeLimit(.minutes(15)))
struct FewDescriptorsTests {
  @Test("a service with 100 file descriptors allows 50 connections and answers 120 clients in turn")
  func few() async throws {
    let folder = try TestFolder()
    let service = try await ServedCommand(
      "pattern:counter,size=64x36,fps=20", in: folder, preparing: "ulimit -n 100")
    #expect(
      service.log.contains {
        $0.contains("connections limited by the system") && $0.contains("connections=50")
      })

    let held = try (0..<120).map { _ in try LoopbackSocket(port: service.port) }

    // All are answered in the end, also those that had to wait until others had gone.
    for socket in held {
      let answer = await socket.answer(
        to: "GET /snapshot?timeout=60000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      #expect(answer.starts(with: Array("HTTP/1.1 200".utf8)))
    }
  }
}

@Suite("A service whose clients come and go", .timeLimit(.minutes(15)))
struct PassingClientsTests {
  private static let mp4 = "GET /cameras/camera/main.mp4 HTTP/1.1\r\nHost: localhost\r\n\r\n"
  private static let webSocket = """
    GET /api/ws?src=camera HTTP/1.1\r
    Host: localhost\r
    Connection: Upgrade\r
    Upgrade: websocket\r
    Sec-WebSocket-Version: 13\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    \r

    """
  /// A text with a mask of zeros.
  private static let play: [UInt8] = [0x81, 0x80 | 14, 0, 0, 0, 0] + Array(#"{"type":"mse"}"#.utf8)

  @Test(
    "file descriptors are freed after 200 videos over HTTP and WebSocket",
    .enabled("needs an encoder of H.264") { await VideoConfiguration.Encoder.automatic.failure == nil })
  func descriptors() async throws {
    let service = try await ServedCommand("pattern:counter,size=160x90,fps=20", in: try TestFolder())
    func sockets() -> Int { service.openFiles.count { $0.hasPrefix("socket:") } }
    let before = sockets()
    var files: Int?
    for _ in 0..<10 {
      try await withThrowingTaskGroup(of: String?.self) { group in
        for index in 0..<20 {
          let socket = try LoopbackSocket(port: service.port)
          group.addTask {
            index % 2 == 0
              ? await socket.status(of: Self.mp4, then: [], limit: 4096)
              : await socket.status(of: Self.webSocket, then: Self.play, limit: 4096)
          }
        }
        for try await status in group {
          #expect(["HTTP/1.1 200", "HTTP/1.1 101"].contains(status?.prefix(12)))
        }
      }
      await until { sockets() == before }
      // What the first clients have opened for all: a renderer, an encoder.
      files = files ?? service.openFiles.count
    }
    await until { files.map { service.openFiles.count <= $0 } ?? false }
  }
}

@Suite("A service that gets SIGHUP while it starts", .timeLimit(.minutes(15)))
struct EarlyReloadTests {
  /// Replaces the file at once (it is never seen empty) and sends SIGHUP as soon as the service handles it: before the
  /// file is read, or after.
  private static let reload = """
    (until grep -q '^SigCgt:.*[13579bdf]$' /proc/$$/status; do sleep 0.001; done
     echo 'cameras: {second: {source: "pattern:smpte,size=16x8"}}' > new && mv new c.yaml
     kill -HUP $$) & true
    """

  @Test("a SIGHUP during startup makes the service load the changed file")
  func early() async throws {
    let folder = try TestFolder()
    try folder.write(Array("cameras: {first: {source: \"pattern:smpte,size=16x8\"}}\n".utf8), to: "c.yaml")
    let service = try await ServedCommand("--config", "c.yaml", in: folder, preparing: Self.reload)
    try await until {
      let answer = try await LoopbackSocket(port: service.port).answer(
        to: "GET /api/cameras HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      return String(decoding: answer, as: UTF8.self).contains("second")
    }
  }
}
