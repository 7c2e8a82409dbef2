// A camera's controls, set while it streams.
import GLPreview
import Testing

extension CameraMachine {
  @Suite("Controls") struct ControlTests {
    private let camera: Vivid

    init() throws {
      camera = try Vivid.camera()
      try camera.reset()
    }

    @Test("controls are listed and set while the camera streams; unknown controls and bad values throw")
    func setting() async throws {
      let source = try await LiveSource.camera("\(camera.node),size=320x180")
      _ = try await source.frame()
      let name = "\(camera.node),format=NV12"
      let before = try await V4L2Camera.controls(of: name)
      let brightness = try #require(before.first { $0.name == "brightness" }?.value)

      let after = try await V4L2Camera.set(
        [CameraControl.Setting(name: "brightness", value: "\(brightness + 20)")], of: name)

      #expect(after.first { $0.name == "brightness" }?.value == brightness + 20)
      #expect(try camera.value("brightness") == Int32(brightness + 20))
      _ = try await source.frame()

      for (control, value) in [("brightness", "100000"), ("no_such_control", "1"), ("brightness", "loud")] {
        await #expect(throws: SourceError.self) {
          try await V4L2Camera.set([CameraControl.Setting(name: control, value: value)], of: name)
        }
      }
      await #expect(throws: SourceError.self) { try await V4L2Camera.controls(of: "/dev/video77") }

      await source.close()
      try camera.reset()
    }
  }
}
