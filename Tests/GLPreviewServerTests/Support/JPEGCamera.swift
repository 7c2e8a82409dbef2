// A camera that gives one JPEG again and again, as webcams do: with EXIF that tells a place, without Huffman tables.
import PreviewCore
import Synchronization

@testable import GLPreview

final class JPEGCamera: BreakableCamera {
  let name = "camera"
  let mode = SourceStatus.Mode(format: "MJPG", transport: "test")
  let size: Size
  /// What is sent on of each picture: without EXIF, and with the standard tables.
  let passed: [UInt8]
  private let jpeg: [UInt8]
  let isLost = Mutex(false)

  init(_ size: Size = Size(width: 64, height: 48)) throws {
    self.size = size
    let grey = [UInt8](repeating: 90, count: size.pixelCount)
    let picture = Picture(tight: size, format: .ycbcr(.yuv444), bytes: grey + grey + grey)
    let whole = try JPEGEncoder(quality: 95).encode(picture)
    var (bare, position) = (Array(whole[..<2]), 2)
    while whole[position + 1] != 0xDA {
      let end = position + 2 + Int(whole[position + 2]) << 8 + Int(whole[position + 3])
      if whole[position + 1] != 0xC4 { bare += whole[position..<end] }
      position = end
    }
    bare += whole[position...]
    passed = try OriginalJPEG(checking: bare, maximumPixels: size.pixelCount).bytes
    let content = Array("Exif\0\0somewhere".utf8)
    jpeg = Array(bare[..<2]) + [0xFF, 0xE1, 0, UInt8(content.count + 2)] + content + bare[2...]
  }

  /// Breaks the connection for good.
  func lose() { isLost.withLock { $0 = true } }

  func next() async throws -> Capture? {
    try await pause(.milliseconds(5))
    if isLost.withLock({ $0 }) { throw SourceError(.unavailable, path: name, reason: "was unplugged") }
    return Capture(jpeg: jpeg, timestamp: CaptureClock.now, SourceOptions(), memory: FramePool())
  }
}
