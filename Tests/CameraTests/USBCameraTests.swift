// Whether the USB camera is one to the kernel, and gives the bytes that it was given.
import Foundation
import TestSupport
import Testing

extension CameraMachine {
  @Suite("Emulated USB camera") final class USBCameraTests {
    private let folder: URL
    private let pictures: [Data]
    private let camera: USBCamera

    init() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "usb-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      // To the kernel any bytes are a picture. One is larger than a payload, one smaller.
      let pictures = [5_000, 40_000].map { count in
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) })
      }
      let files = try pictures.enumerated().map { index, bytes in
        let file = folder.appending(path: "\(index).jpg")
        try bytes.write(to: file)
        return file
      }
      (self.folder, self.pictures) = (folder, pictures)
      camera = try USBCamera(files, width: 320, height: 240, framesPerSecond: 20)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// What `v4l2-ctl` takes of it.
    private func frames(_ count: Int, of node: String) throws -> Data {
      let file = folder.appending(path: "frames")
      try runProgram(
        "v4l2-ctl", "-d", node, "--stream-mmap", "--stream-count=\(count)", "--stream-to=\(file.path)")
      return try Data(contentsOf: file)
    }

    @Test(
      "the kernel's UVC driver reports 320x240 MJPG and delivers the pictures unchanged",
      .timeLimit(.minutes(15)))
    func frames() async throws {
      let node = try await camera.waitForNode()
      let format = try VideoDevice(node).format()
      #expect((format.fourCC, format.width, format.height) == ("MJPG", 320, 240))
      #expect(try frames(4, of: node) == pictures[0] + pictures[1] + pictures[0] + pictures[1])
    }

    @Test(
      "an unplugged camera's node disappears, and the camera streams again at another USB port",
      .timeLimit(.minutes(15)))
    func replug() async throws {
      _ = try await camera.waitForNode()
      try camera.tell(.unplug)
      await until { camera.node == nil }
      try camera.tell(.otherPort)
      try camera.tell(.plug)
      let node = try await camera.waitForNode()
      #expect(try runProgram("v4l2-ctl", "-d", node, "--info").contains("usb-vhci_hcd.0-2"))
      #expect(try frames(1, of: node) == pictures[0])
    }

    @Test(
      "a short-frame fault truncates one frame, and the frame after a damage fault is intact",
      .timeLimit(.minutes(15)))
    func faults() async throws {
      let node = try await camera.waitForNode()
      try camera.tell(.short)
      #expect(try frames(2, of: node) == pictures[0].prefix(2_500) + pictures[1])
      try camera.tell(.damage)
      // Which of the two was damaged depends on where the last stream was left.
      let frame = try frames(1, of: node)
      #expect(pictures.contains { frame == $0 })
    }
  }
}
