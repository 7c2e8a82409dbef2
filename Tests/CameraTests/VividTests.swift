// Whether the camera does what `Vivid` promises the other tests.
import Foundation
import Testing

extension CameraMachine {
  @Suite("Vivid test camera") struct VividTests {
    private let camera: Vivid

    init() throws { camera = try Vivid.camera() }

    @Test("Vivid lists exactly one camera, /dev/video0")
    func one() throws { #expect(try Vivid.all.map(\.node) == ["/dev/video0"]) }

    @Test("a control keeps its value until a reset, and an unknown control throws")
    func controls() throws {
      let before = try camera.value("brightness")
      try camera.set("brightness", before + 20)
      #expect(try camera.value("brightness") == before + 20)
      try camera.reset()
      #expect(try camera.value("brightness") == before)
      #expect(throws: DeviceFailed.self) { try camera.set("no_such_control", 1) }
    }

    @Test(
      "a format is set as requested, and a raw frame has that format's image size",
      arguments: ["YUYV", "NV12", "RGB3", "GREY"])
    func format(fourCC: String) throws {
      let format = try camera.setFormat(fourCC, width: 640, height: 480)
      #expect((format.fourCC, format.width, format.height) == (fourCC, 640, 480))
      #expect(try camera.rawFrame().bytes.count == format.imageSize)
    }

    @Test("an unplugged camera's node disappears, and returns when the camera is plugged in")
    func unplug() throws {
      try Vivid.unplug()
      #expect(try Vivid.all.isEmpty)
      #expect(!FileManager.default.fileExists(atPath: camera.node))
      try Vivid.plugIn()
      #expect(try Vivid.all.map(\.node) == [camera.node])
    }

    @Test("a camera can be replugged under another device number, and later returns to its own")
    func otherNumber() throws {
      let holder = try Vivid.replugUnderOtherNumber()
      let moved = try Vivid.all.map(\.node)
      #expect(moved.count == 1 && moved != [camera.node])
      #expect(throws: DeviceFailed.self) { try holder.format() }
      _ = consume holder
      #expect(try Vivid.camera().node == camera.node)
    }

    @Test("a disconnected camera's calls fail until its last descriptor is closed")
    func disconnect() throws {
      let device = try VideoDevice(camera.node)
      try device.setControl(device.control("disconnect").id, 1)
      #expect(throws: DeviceFailed.self) { try device.format() }
      #expect(throws: DeviceFailed.self) { try VideoDevice(camera.node) }
      _ = consume device
      #expect(try camera.format().width > 0)
    }
  }
}
