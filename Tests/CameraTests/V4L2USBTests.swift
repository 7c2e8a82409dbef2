// A webcam of the kernel's uvcvideo: MJPEG, its faults, and how it is known again by its serial number.
import Foundation
import GLPreview
import PreviewCore
import Testing

extension CameraMachine {
  @Suite("V4L2 USB camera", .timeLimit(.minutes(15))) final class V4L2USBTests {
    private static let size = Size(width: 320, height: 240)
    private let folder: URL
    private let camera: USBCamera

    /// Its three pictures by turns: dark, bright, and one without Huffman tables, as webcams leave them out.
    init() throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "v4l2-usb-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let pictures = try [
        Self.jpeg(grey: 40), Self.jpeg(grey: 200), Self.withoutTables(Self.jpeg(grey: 120)),
      ]
      let files = try pictures.enumerated().map { [folder] index, bytes in
        let file = folder.appending(path: "\(index).jpg")
        try Data(bytes).write(to: file)
        return file
      }
      camera = try USBCamera(files, width: Self.size.width, height: Self.size.height, framesPerSecond: 20)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Grey of one code with noise: what is cut in the middle must be missed.
    private static func jpeg(grey: UInt8) throws -> [UInt8] {
      var random = SystemRandomNumberGenerator()
      var samples = (0..<size.pixelCount).map { _ in UInt8.random(in: grey - 30...grey + 30, using: &random) }
      samples += [UInt8](repeating: 128, count: size.pixelCount / 2)
      let picture = Picture(tight: size, format: .ycbcr(.yuv420), bytes: samples)
      return try PictureEncoder(.jpeg, quality: 80).encode(picture).bytes
    }

    /// The same without its DHT segments (T.81, B.2.4.2).
    private static func withoutTables(_ jpeg: [UInt8]) throws -> [UInt8] {
      var result: [UInt8] = [0xFF, 0xD8]
      var index = 2
      while jpeg[index + 1] != 0xDA {
        let length = 2 + Int(jpeg[index + 2]) << 8 + Int(jpeg[index + 3])
        if jpeg[index + 1] != 0xC4 { result += jpeg[index..<index + length] }
        index += length
      }
      try #require(result.count < index)
      return result + jpeg[index...]
    }

    /// The mean of its luma.
    private func brightness(_ frame: Frame) -> Int {
      frame.bytes.prefix(Self.size.pixelCount).reduce(0) { $0 + Int($1) } / Self.size.pixelCount
    }

    @Test("MJPEG frames decode with and without Huffman tables")
    func frames() async throws {
      let source = try await LiveSource.camera(
        try await camera.waitForNode(), delivery: .every(maximumBytes: 64 << 20))

      for expected in [40, 200, 120, 40, 200, 120] {
        let frame = try await source.frame()
        #expect(frame.format.color == .jfif)
        #expect(abs(brightness(frame) - expected) < 3)
      }

      let mode = try #require(source.status.mode)
      #expect((mode.format, mode.size, mode.framesPerSecond) == ("MJPG", Self.size, 20))
      #expect(source.status.counters.damaged == 0)
      await source.close()
      try await Holdings.areGone()
    }

    @Test("a requested RGB3 format is converted by libv4lconvert, and the mode says so")
    func emulated() async throws {
      let source = try await LiveSource.camera(
        try await camera.waitForNode() + ",format=RGB3", delivery: .every(maximumBytes: 64 << 20))

      for expected in [40, 200, 120] {
        let frame = try await source.frame()
        #expect(frame.format.pixelFormat == .rgb24)
        #expect(abs(brightness(frame) - expected) < 3)
      }

      #expect(source.status.mode?.transport == "mmap, made by libv4lconvert")
      await source.close()
      try await Holdings.areGone()
    }

    @Test("a truncated JPEG counts as damaged, and the source stays live")
    func short() async throws {
      let source = try await LiveSource.camera(
        try await camera.waitForNode(), delivery: .every(maximumBytes: 64 << 20))
      _ = try await source.frame()
      try camera.tell(.short)
      _ = try await source.frame { _ in source.status.counters.damaged == 1 }
      #expect(source.status.state == .live)
      await source.close()
    }

    @Test("a camera that stops sending is stalled, then live again without a reconnect")
    func stalled() async throws {
      let source = try await LiveSource.camera(try await camera.waitForNode(), stallsAfter: .seconds(2))
      _ = try await source.frame()
      try camera.tell(.stall)
      try await source.reaches(.stalled)
      try camera.tell(.go)
      try await source.reaches(.live)
      #expect(source.status.counters.reconnections == 0)
      await source.close()
    }

    @Test("a camera replugged at another USB port is found and reconnected")
    func otherPort() async throws {
      let source = try await LiveSource.camera(try await camera.waitForNode())
      _ = try await source.frame()

      try camera.tell(.unplug)
      let lost = try await source.reaches(.lost)
      #expect(lost.reason == "was unplugged")

      try camera.tell(.otherPort)
      try camera.tell(.plug)
      _ = try await source.frame { $0.timestamp > lost.since }
      #expect(source.status.state == .live)

      await source.close()
      try await Holdings.areGone()
    }
  }
}
