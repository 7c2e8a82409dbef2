// A camera behind a server that people have: ustreamer, on the same machine.
import Foundation
import GLPreview
import PreviewCore
import Testing

extension CameraMachine {
  @Suite("ustreamer") struct UstreamerTests {
    @Test("its stream and its snapshots are read over HTTP", arguments: ["stream", "snapshot"])
    func served(path: String) async throws {
      let camera = try Vivid.camera()
      let server = Process()
      server.executableURL = URL(filePath: "/usr/bin/env")
      server.arguments =
        ["ustreamer", "--device", camera.node, "--format", "YUYV", "--resolution", "320x180"]
        + ["--host", "127.0.0.1", "--port", "8090", "--workers", "1", "--desired-fps", "5"]
      server.standardOutput = FileHandle.nullDevice
      server.standardError = FileHandle.nullDevice
      try server.run()
      defer {
        server.terminate()
        server.waitUntilExit()
      }
      // It is not there yet: that is one failure or two, and then it is live. Until the camera gives something, ustreamer
      // shows a picture that says so, of another size.
      let source = try await LiveSource.camera("http://127.0.0.1:8090/\(path)")
      let frame = try await source.frame { $0.format.size == Size(width: 320, height: 180) }
      let luma = frame.bytes.prefix(320 * 180)
      // Bars, from white to black.
      #expect((luma.max() ?? 0) > 150 && (luma.min() ?? 255) < 60)
      #expect(source.status.state == .live)
      #expect(source.status.mode?.transport == "http")
      await source.close()
    }
  }
}
