// Where pictures begin and end among other bytes.
import PreviewCore
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("PictureStart")
struct PictureStartTests {
  private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]

  @Test("PictureStart finds the first JPEG or PNG, and the last of repeated JPEG start markers")
  func starts() {
    func start(_ bytes: [UInt8]) -> PictureStart? { PictureStart(in: bytes[...]) }
    let stray: [UInt8] = [0x89, 0x50, 0xFF, 0xD8, 0xFF, 0x00, 0xFF, 0xD8, 0x0D, 0x0A, 0xFF]

    #expect(start(Self.jpeg)?.offset == 0)
    #expect(start([0xFF, 0xD8] + Self.jpeg)?.offset == 2)
    #expect(start(stray + [0xFF, 0xD8, 0xFF, 0xD8] + Self.jpeg)?.offset == stray.count + 4)
    #expect(start(stray + TestPNG.signature + Self.jpeg) == start(stray + TestPNG.signature))
    #expect(start(stray + TestPNG.signature)?.format == .png)
    for none in [[], stray, [0xFF, 0xD8], [0, 0xFF, 0xD8, 0xFF], [0, 0xFF, 0xD8, 0xFF, 0xD9]] {
      #expect(start(none) == nil, "\(none)")
    }
  }

  @Test("a resumed search finds a start marker that crosses the end of the previous data")
  func overlap() {
    let bytes = [UInt8](repeating: 0xFF, count: 20) + TestPNG.signature
    for seen in bytes.indices {
      let part = bytes[..<seen]
      #expect(PictureStart.search(in: part) == nil)
      #expect(PictureStart.search(in: bytes[...], from: max(seen - PictureStart.overlap, 0))?.offset == 20)
    }
  }

  @Test("a capture skips the bytes before its JPEG or PNG when decoded and when passed through")
  func captures() throws {
    let jpeg = try smallJPEG()
    let png = TestPNG(width: 3, height: 2, type: .rgb, depth: 8) { x, y in [x, y, 0] }.bytes
    func capture(_ bytes: [UInt8]) -> Capture {
      Capture(picture: bytes, timestamp: .start, SourceOptions(), memory: FramePool())
    }

    for stray in [[], [0xFF, 0xD8], [0x0D, 0x0A], [1, 2, 3]] as [[UInt8]] {
      #expect(capture(stray + jpeg).jpeg == jpeg)
      #expect(try capture(stray + jpeg).frame().format.size == Size(width: 24, height: 16))
      #expect(capture(stray + png).jpeg == nil)
      #expect(try capture(stray + png).frame().format.size == Size(width: 3, height: 2))
    }
    #expect(capture([1, 2, 3]).jpeg == nil)
    #expect(throws: CodecError.self) { try capture([1, 2, 3]).frame() }
  }

  @Test(
    "PictureWalk finds the end of a picture in chunks of any size",
    arguments: [markersOnly(7), chunksOnly(7)])
  func ends(picture: [UInt8]) {
    for size in 1...picture.count {
      var walk = PictureWalk()
      var found: Int?
      var count = TestPNG.signature.count
      while found == nil, count < picture.count + size {
        found = walk.end(in: (picture + [0, 1, 2]).prefix(count))
        count += size
      }
      #expect(found == picture.count)
    }
    var walk = PictureWalk()
    #expect(walk.end(in: picture.dropLast()) == nil)
  }
}
