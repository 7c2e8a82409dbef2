// A frame must fit its memory: whatever a driver, a file or a caller says, no plane reaches beyond its bytes.
// A refusal is an error that can be caught, never a trap: sizes come from headers of files.
import PreviewCore
import Testing

private func format(_ pixelFormat: PixelFormat, _ width: Int, _ height: Int) -> Frame.Format {
  Frame.Format(pixelFormat, Size(width: width, height: height), color: .jfif)
}

private func frame(_ format: Frame.Format, count: Int, _ planes: [(offset: Int, bytesPerRow: Int)])
  throws(Frame.LayoutError)
{
  _ = try Frame(
    format, bytes: [UInt8](repeating: 0, count: count),
    planes: planes.map { Frame.Plane(offset: $0.offset, bytesPerRow: $0.bytesPerRow) })
}

@Test("a tightly packed frame stores its planes one after another")
func tightPlanes() throws {
  let frame = try Frame(tight: format(.i420, 5, 3), bytes: [UInt8](repeating: 7, count: 27))
  #expect(
    frame.planes == [
      Frame.Plane(offset: 0, bytesPerRow: 5), Frame.Plane(offset: 15, bytesPerRow: 3),
      Frame.Plane(offset: 21, bytesPerRow: 3),
    ])
}

@Test("a tightly packed frame accepts extra bytes and rejects missing ones", arguments: PixelFormat.allCases)
func tightCounts(pixelFormat: PixelFormat) throws {
  let odd = format(pixelFormat, 5, 3)
  let count = try #require(pixelFormat.tightByteCount(of: odd.size))
  #expect(throws: Never.self) { try Frame(tight: odd, bytes: [UInt8](repeating: 0, count: count)) }
  #expect(throws: Never.self) { try Frame(tight: odd, bytes: [UInt8](repeating: 0, count: count + 1)) }
  #expect(throws: Frame.LayoutError.self) {
    try Frame(tight: odd, bytes: [UInt8](repeating: 0, count: count - 1))
  }
  #expect(throws: Frame.LayoutError.self) { try Frame(tight: odd, bytes: []) }
}

@Test("the last row of a plane needs no padding")
func lastRowOfAPlane() {
  // 4x3 grey, 10 bytes a row, from 2 on: 2 + 2 * 10 + 4.
  #expect(throws: Never.self) { try frame(format(.grey, 4, 3), count: 26, [(2, 10)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(format(.grey, 4, 3), count: 25, [(2, 10)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(format(.grey, 4, 3), count: 26, [(3, 10)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(format(.grey, 4, 3), count: 26, [(2, 11)]) }
}

@Test("a frame rejects planes that do not match its pixel format")
func contradictingPlanes() {
  let grey = format(.grey, 4, 3)
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, []) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(0, 4), (0, 4)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(0, 3)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(0, 0)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(0, -4)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(-1, 4)]) }

  // The second plane of NV12 is at fault: 2 pairs a row are 4 bytes.
  let error = #expect(throws: Frame.LayoutError.self) {
    try frame(format(.nv12, 4, 2), count: 100, [(0, 4), (8, 3)])
  }
  #expect(error?.description == "plane 1 of a 4x2 nv12 frame does not fit its memory")
}

@Test("a frame rejects plane offsets and strides at the limits of Int without trapping")
func planeOverflow() {
  let grey = format(.grey, 4, 3)
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(.max, 4)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(0, .max)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(.max, .max)]) }
  #expect(throws: Frame.LayoutError.self) { try frame(grey, count: 100, [(.min, .max)]) }
  // One row has no second one: its stride may be anything.
  #expect(throws: Never.self) { try frame(format(.grey, 4, 1), count: 4, [(0, .max)]) }
}

@Test("a tightly packed frame too large for any memory is rejected without trapping")
func tightOverflow() async {
  await #expect(processExitsWith: .success) {
    for pixelFormat in PixelFormat.allCases {
      for (width, height) in [(1 << 32, 1 << 32), (1 << 62, 1 << 62), (Int.max, Int.max), (Int.max, 1)] {
        #expect(throws: Frame.LayoutError.self) {
          try Frame(
            tight: Frame.Format(pixelFormat, Size(width: width, height: height), color: .jfif), bytes: [0])
        }
      }
    }
  }
}

@Test("Frame.with changes only the given sequence number, timestamp or colour")
func countedAnew() throws {
  let time = CaptureInstant(sinceStart: .seconds(4))
  let first = try Frame(
    tight: format(.grey, 2, 1), bytes: [1, 2], sequence: 3, timestamp: time, iccProfile: [9])
  let second = first.with(sequence: 5, color: ColorDescription.Override(matrix: .bt709))
  #expect(second.sequence == 5 && second.timestamp == time && second.bytes == [1, 2])
  #expect(second.iccProfile == [9])
  #expect(second.format.color == ColorDescription(matrix: .bt709, range: .full, siting: .centred))
  #expect(first.with(timestamp: .start).sequence == 3)
}

@Test("Picture traps if an RGBA plane extends beyond its bytes")
func picturePlanes() async {
  let size = Size(width: 2, height: 1)
  _ = Picture(
    size: size, format: .rgba, planes: [Picture.Plane(size: size, offset: 0, bytesPerRow: 8)],
    bytes: [UInt8](repeating: 0, count: 8))
  // Two pixels of RGBA are 8 bytes; 2 are not enough.
  await #expect(processExitsWith: .failure) {
    let size = Size(width: 2, height: 1)
    _ = Picture(
      size: size, format: .rgba, planes: [Picture.Plane(size: size, offset: 0, bytesPerRow: 8)],
      bytes: [0, 0])
  }
}

@Test("a tightly packed picture stores its planes one after another, with chroma sizes rounded up")
func tightPictures() {
  let size = Size(width: 3, height: 3)
  let picture = Picture(tight: size, format: .ycbcr(.yuv420), bytes: [UInt8](repeating: 0, count: 17))

  #expect(picture.planes.map(\.offset) == [0, 9, 13])
  #expect(picture.planes.map(\.bytesPerRow) == [3, 2, 2])
  #expect(Picture.Format.ycbcr(.yuv422).planeSizes(of: size).map(\.description) == ["3x3", "2x3", "2x3"])
  #expect(Picture.Format.ycbcr(.yuv444).planeSizes(of: size).map(\.description) == ["3x3", "3x3", "3x3"])
  #expect(
    Picture(tight: size, format: .rgba, bytes: [UInt8](repeating: 0, count: 36)).planes.map(\.bytesPerRow)
      == [12])
}
