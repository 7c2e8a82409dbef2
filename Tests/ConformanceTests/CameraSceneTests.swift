import Conformance
import GLPreview
import Testing

@Suite("Camera scene")
struct CameraSceneTests {
  /// Made once: it is a large picture.
  private static let scene = CameraScene()

  @Test(
    "frames of the camera scene differ, repeat after frameCount, and stay in limited range",
    arguments: [PixelFormat.nv12, .i420])
  func frames(pixelFormat: PixelFormat) throws {
    let format = Frame.Format(pixelFormat, Size(width: 320, height: 180), color: .jfif)
    let frames = try (0..<CameraScene.frameCount).map { try Self.scene.frame($0, format).bytes }
    #expect(Set(frames).count == CameraScene.frameCount)
    #expect(try Self.scene.frame(CameraScene.frameCount, format).bytes == frames[0])
    #expect(frames.allSatisfy { $0.allSatisfy { (16...235).contains($0) } })
  }

  @Test("I420 and NV12 frames hold the same samples")
  func layouts() throws {
    let size = Size(width: 64, height: 32)
    let planar = try Self.scene.frame(3, Frame.Format(.i420, size, color: .jfif)).bytes
    let pairs = try Self.scene.frame(3, Frame.Format(.nv12, size, color: .jfif)).bytes
    let (luma, chroma) = (size.pixelCount, size.pixelCount / 4)

    #expect(planar[..<luma] == pairs[..<luma])
    let blue = planar[luma..<luma + chroma]
    let red = planar[(luma + chroma)...]
    var woven: [UInt8] = []
    for (b, r) in zip(blue, red) { woven += [b, r] }
    #expect(woven == Array(pairs[luma...]))
  }

  @Test("a frame larger than the camera scene is tiled from parts that differ")
  func large() throws {
    let frame = try Self.scene.frame(0, Frame.Format(.nv12, Size(width: 3840, height: 2160), color: .jfif))
    let row = { (x: Int, y: Int) in Array(frame.bytes[y * 3840 + x..<y * 3840 + x + 1920]) }
    #expect(Set([row(0, 0), row(1920, 0), row(0, 1080), row(1920, 1080)]).count == 4)
  }

  @Test("a JPEG of the camera scene at quality 90 has 1.5 to 2 bits per pixel, like a photograph")
  func detail() throws {
    let size = Size(width: 1920, height: 1080)
    let frame = try Self.scene.frame(0, Frame.Format(.i420, size, color: .jfif))
    let picture = Picture(tight: size, format: .ycbcr(.yuv420), bytes: frame.bytes)
    let bits = Double(try JPEGEncoder(quality: 90).encode(picture).count * 8) / Double(size.pixelCount)
    #expect((1.5...2).contains(bits), "\(bits)")
  }
}
