// Masks along the way of a source: one size holds for all of its frames, and no other way leads around them.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import GLPreview

@Suite("Masked sources")
struct MaskedSourceTests {
  private func options(_ masks: [PrivacyMask], reference: Size? = nil) -> SourceOptions {
    var options = SourceOptions()
    options.masks = masks
    options.referenceSize = reference
    options.live = LiveOptions(delivery: .every(maximumBytes: 1 << 20), givesUpAfter: .zero)
    return options
  }

  private func level(_ size: Size) throws -> [UInt8] {
    let bytes = [UInt8](repeating: 200, count: size.pixelCount + 2 * size.pixelCount / 4)
    return try JPEGEncoder(quality: 100).encode(
      Picture(tight: size, format: .ycbcr(.yuv420), bytes: bytes))
  }

  /// Where a frame is black: its first and last row and column.
  private func dark(_ frame: Frame) -> [Int] {
    let (width, height) = (frame.format.size.width, frame.format.size.height)
    let (bytes, plane) = (frame.bytes, frame.planes[0])
    func isDark(_ x: Int, _ y: Int) -> Bool { bytes[plane.offset + y * plane.bytesPerRow + x] < 60 }
    let rows = (0..<height).filter { y in (0..<width).contains { isDark($0, y) } }
    let columns = (0..<width).filter { x in (0..<height).contains { isDark(x, $0) } }
    return [columns.first ?? -1, columns.last ?? -1, rows.first ?? -1, rows.last ?? -1]
  }

  private let masks = [
    PrivacyMask(.rectangle(Rectangle(x: 8, y: 4, width: 8, height: 6)), effect: .fill(.black))
  ]

  @Test(
    "masks are placed by the first frame's size and scaled for frames of other sizes")
  func changingSize() async throws {
    let sizes = [32, 64, 16, 48].map { Size(width: $0, height: $0 / 2) }
    let expected = [[8, 15, 4, 9], [16, 31, 8, 19], [4, 7, 2, 4], [12, 23, 6, 14]]

    try await withFile(sizes.flatMap { try level($0) }) { path in
      let source = try await SourceLocator(path).open(options(masks))
      for _ in 0..<2 {
        for edges in expected { #expect(try dark(#require(await source.nextFrame())) == edges) }
        #expect(try await source.nextFrame() == nil)
        try await source.rewind()
      }
    }
  }

  @Test("masks with a reference size are scaled to the frame's size")
  func ownSize() async throws {
    let options = options(masks, reference: Size(width: 320, height: 160))
    try await withFile(try level(Size(width: 32, height: 16))) { path in
      let source = try await SourceLocator(path).open(options)
      #expect(try dark(#require(await source.nextFrame())) == [0, 1, 0, 0])
    }
  }

  @Test("masks outside the reference size are rejected before the source is opened")
  func refusedAtOnce() async throws {
    for size in [Size(width: 4, height: 4), Size(width: 0, height: 4)] {
      let error = await #expect(throws: SourceError.self) {
        try await SourceLocator("/nowhere").open(options(masks, reference: size))
      }
      #expect(error?.kind == .badRequest)
    }
  }

  @Test("masks apply to a live source, and a mask outside its frame is rejected")
  func live() async throws {
    try await withFile(try level(Size(width: 32, height: 16))) { path in
      let source = try await SourceLocator("exec:cat '\(path)'").open(options(masks))
      #expect(try dark(#require(await source.nextFrame())) == [8, 15, 4, 9])
      await source.close()

      let far = [PrivacyMask(.rectangle(Rectangle(x: 99, y: 0, width: 1, height: 1)))]
      let other = try await SourceLocator("exec:cat '\(path)'").open(options(far))
      let error = await #expect(throws: SourceError.self) { try await other.nextFrame() }
      #expect(error?.kind == .badRequest && error?.reason.contains("1x1+99+0") == true)
      await other.close()
    }
  }

  @Test("masks cover the same area of a JPEG that is decoded at n/8", arguments: [8, 4, 2, 1])
  func decoded(eighths: Int) async throws {
    let jpeg = try level(Size(width: 64, height: 32))
    let side = Double(64 * eighths / 8)
    let view = ViewRequest(ViewConfiguration(width: Int(side / 3)), as: .rgba)
    var options = options(masks)
    options.decoding = .fast(for: [view])

    try await withFile(jpeg) { path in
      let frame = try #require(await SourceLocator(path).open(options).nextFrame())
      let n = frame.format.eighths
      // 8...15 and 4...9, outwards.
      #expect(dark(frame) == [8 * n / 8, (16 * n + 7) / 8 - 1, 4 * n / 8, (10 * n + 7) / 8 - 1])
    }
  }

  @Test("a masked capture has no original JPEG for passthrough")
  func noPassthrough() throws {
    let jpeg = try level(Size(width: 32, height: 16))
    let capture = Capture(
      jpeg: jpeg, timestamp: .second(3), skipped: 2, SourceOptions(), memory: FramePool())
    var options = SourceOptions()
    #expect(capture.hidden(options).jpeg == jpeg)
    options.masks = [try PrivacyMask(parsing: "8x8+0+0")]
    let hidden = capture.hidden(options)
    #expect(capture.jpeg == jpeg && hidden.jpeg == nil)
    #expect(hidden.timestamp == .second(3) && hidden.skipped == 2 && hidden.byteCount == jpeg.count)
    #expect(try hidden.frame().bytes == capture.frame().bytes)
  }
}
