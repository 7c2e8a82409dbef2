// Pixelated and blurred masks tell means over cells, and nothing finer.
import Testing

@testable import PreviewCore

@Suite("Pixelated and blurred masks")
struct MaskCellTests {
  private static let size = Size(width: 96, height: 64)
  private static let rectangle = Rectangle(x: 10, y: 8, width: 64, height: 48)

  private func grey(_ code: (Int, Int) -> Int) throws -> Frame {
    let bytes = (0..<Self.size.pixelCount).map { UInt8(code($0 % Self.size.width, $0 / Self.size.width)) }
    return try Frame(tight: Frame.Format(.grey, Self.size, color: .jfif), bytes: bytes)
  }

  private func codes(_ frame: Frame, _ rectangle: Rectangle = rectangle) -> [UInt8] {
    (rectangle.y..<rectangle.y + rectangle.height).flatMap { y in
      (rectangle.x..<rectangle.x + rectangle.width).map { frame.bytes[y * Self.size.width + $0] }
    }
  }

  @Test("a pixelated cell is the mean of the pixels it covers, and cells start at the mask's corner")
  func means() throws {
    let masks = [PrivacyMask(.rectangle(Self.rectangle), effect: .pixelate(cell: 16))]
    func mean(_ x: Int, _ y: Int) -> Int { (x - 10) / 16 * 40 + (y - 8) / 16 * 7 + 20 }
    let open = try grey { x, y in mean(x, y) + (x % 2 == 0 ? 3 : -3) }

    let masked = try open.masked(by: masks)

    let wanted = (0..<Self.size.pixelCount).map { index in
      let (x, y) = (index % Self.size.width, index / Self.size.width)
      return (10..<74).contains(x) && (8..<56).contains(y) ? UInt8(mean(x, y)) : open.bytes[index]
    }
    #expect(masked.bytes == wanted)
  }

  @Test(
    "details smaller than a cell leave no trace in a pixelated or blurred mask",
    arguments: [PrivacyMask.Effect.pixelate(cell: 16), .blur(radius: 16)])
  func finer(effect: PrivacyMask.Effect) throws {
    let masks = [PrivacyMask(.rectangle(Self.rectangle), effect: effect)]
    // Letters, drawn in columns or rows: each cell holds as much of both colours.
    let one = try grey { x, y in (x - 10) % 4 < 2 ? 40 : 200 }
    let other = try grey { x, y in
      x < 10 || x >= 74 || y < 8 || y >= 56 ? (x - 10) % 4 < 2 ? 40 : 200 : (y - 8) % 8 < 4 ? 200 : 40
    }

    #expect(one.bytes != other.bytes)
    #expect(try one.masked(by: masks).bytes == other.masked(by: masks).bytes)
    #expect(Set(codes(try one.masked(by: masks))) == [120])
  }

  @Test("a cell is at least 8 pixels and an eighth of the mask's shorter side")
  func least() throws {
    let small = Rectangle(x: 3, y: 3, width: 40, height: 17)
    for (rectangle, cells) in [(Self.rectangle, 8 * 8), (small, 5 * 2)] {
      let masks = [PrivacyMask(.rectangle(rectangle), effect: .pixelate(cell: 1))]
      let masked = try grey { x, y in x * 2 + y }.masked(by: masks)

      var seen: Set<[UInt8]> = []
      let rows = codes(masked, rectangle)
      for row in 0..<rectangle.height {
        seen.insert(Array(rows[row * rectangle.width..<(row + 1) * rectangle.width]))
      }
      let changes = zip(rows.prefix(rectangle.width), rows.prefix(rectangle.width).dropFirst()).filter {
        $0 != $1
      }

      #expect(seen.count * (changes.count + 1) <= cells)
      #expect(seen.count > 1 && changes.count > 1)
    }
  }

  @Test("a frame decoded at 1/8 size is pixelated with the cells of the full size")
  func decodedSmaller() throws {
    let format = Frame.Format(.grey, Size(width: 160, height: 160), color: .jfif, eighths: 1)
    let frame = try Frame(tight: format, bytes: (0..<400).map { UInt8($0 % 251) })
    let masks = [
      PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 160, height: 160)), effect: .pixelate(cell: 80))
    ]
    let masked = try frame.masked(by: masks)
    // Each cell has 10x10 decoded pixels.
    for (x, y) in [(0, 0), (10, 0), (0, 10), (10, 10)] {
      let pixels = (0..<100).map { (y + $0 / 10) * 20 + x + $0 % 10 }
      let mean = pixels.reduce(0) { $0 + Int(frame.bytes[$1]) } / 100
      #expect(pixels.allSatisfy { abs(Int(masked.bytes[$0]) - mean) <= 1 }, "\(x),\(y)")
    }
  }

  @Test("a blur is gradual, stays within the values of its cells, and keeps a uniform area")
  func smooth() throws {
    let masks = [PrivacyMask(.rectangle(Self.rectangle), effect: .blur(radius: 8))]
    let masked = try grey { x, _ in x < 42 ? 20 : 220 }.masked(by: masks)
    let line = codes(masked, Rectangle(x: 10, y: 30, width: 64, height: 1)).map { Int($0) }
    #expect(line.min() == 20 && line.max() == 220)
    #expect(zip(line, line.dropFirst()).allSatisfy { $0 <= $1 && $1 - $0 <= 26 }, "\(line)")
    #expect(Set(codes(try grey { _, _ in 77 }.masked(by: masks))) == [77])
  }

  @Test("a cell at a slanted edge does not reveal the few masked pixels in it")
  func slivers() throws {
    // The cell of the lower right corner has one pixel of the mask.
    let triangle: [SIMD2<Int>] = [[0, 0], [64, 0], [0, 64]]
    let masks = [PrivacyMask(.polygon(triangle), effect: .pixelate(cell: 8))]
    let one = try grey { x, y in x == 63 && y == 0 ? 255 : 50 }
    let masked = try one.masked(by: masks)
    #expect(codes(masked, Rectangle(x: 56, y: 0, width: 8, height: 8)).allSatisfy { $0 < 60 })
  }

  @Test(
    "pixelating or blurring a uniform frame keeps its bytes, in every pixel format",
    arguments: PixelFormat.allCases)
  func formats(pixelFormat: PixelFormat) throws {
    let format = Frame.Format(pixelFormat, Size(width: 33, height: 35), color: .jfif)
    for effect in [PrivacyMask.Effect.pixelate(cell: 11), .blur(radius: 9)] {
      let masks = [
        PrivacyMask(.rectangle(Rectangle(x: 5, y: 3, width: 23, height: 29)), effect: effect)
      ]
      let count = try #require(pixelFormat.tightByteCount(of: format.size))

      // Wide codes have two equal bytes.
      let level = try Frame(tight: format, bytes: [UInt8](repeating: 93, count: count))
      #expect(try level.masked(by: masks).bytes == level.bytes)

      let varied = try Frame(tight: format, bytes: (0..<count).map { UInt8($0 * 7 % 256) })
      let masked = try varied.masked(by: masks)
      #expect(masked.bytes.count == count && masked.bytes != varied.bytes)
    }
  }
}
