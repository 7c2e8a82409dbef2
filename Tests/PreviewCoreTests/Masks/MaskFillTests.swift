// What a filled mask hides is gone, whatever it was; what it does not touch stays, to the last bit.
import Synchronization
import Testing

@testable import PreviewCore

/// A frame whose samples tell of every pixel that they stand for: each is a hash of those pixels' secrets.
struct TellingFrame {
  let format: Frame.Format
  /// By pixel of the upright picture at the reference size.
  let secret: (_ x: Int, _ y: Int) -> Int

  /// Each sample of a component, and the pixels of the upright reference that it stands for.
  static func forEachSample(
    _ format: Frame.Format, _ component: Component,
    _ body: (_ row: Int, _ column: Int, _ pixels: [SIMD2<Int>]) -> Void
  ) {
    let (size, orientation) = (format.referenceSize, format.orientation)
    func covered(_ sampling: Int, _ samples: Int, _ count: Int) -> [[Int]] {
      (0..<samples).map { index in
        (0..<count).filter {
          $0 * format.eighths < (index + 1) * sampling * 8 && ($0 + 1) * format.eighths > index * sampling * 8
        }
      }
    }
    let samples = component.subsampling.planeSize(of: format.size)
    let columns = covered(component.subsampling.x, samples.width, size.width)
    let rows = covered(component.subsampling.y, samples.height, size.height)
    for row in rows.indices {
      for column in columns.indices {
        var pixels: [SIMD2<Int>] = []
        for y in rows[row] {
          for x in columns[column] {
            let (x, y) = (
              orientation.flipsX ? size.width - 1 - x : x, orientation.flipsY ? size.height - 1 - y : y
            )
            pixels.append(orientation.swapsAxes ? [y, x] : [x, y])
          }
        }
        body(row, column, pixels)
      }
    }
  }

  func frame() throws -> Frame {
    let count = try #require(format.pixelFormat.tightByteCount(of: format.size))
    var bytes = [UInt8](repeating: 0, count: count)
    let blank = try Frame(tight: format, bytes: bytes)
    for component in format.pixelFormat.components {
      let samples = ComponentSamples(component, format.pixelFormat, blank.planes)
      var codes: [(position: Int, code: Int)] = []
      Self.forEachSample(format, component) { row, column, pixels in
        let hash = pixels.reduce(component.channel &* 77) { ($0 &* 31 &+ secret($1.x, $1.y)) & 0xFFFF_FFFF }
        codes.append((samples.position(row, column), hash % (format.pixelFormat.maximumCode + 1)))
      }
      var span = bytes.mutableSpan
      for (position, code) in codes { samples.set(code, at: position, &span) }
    }
    let time = CaptureInstant(sinceStart: .seconds(4))
    return try Frame(tight: format, bytes: bytes, sequence: 3, timestamp: time, iccProfile: [1])
  }
}

@Suite("Filled masks")
struct MaskFillTests {
  private static let reference = Size(width: 17, height: 13)
  private static let rectangle = Rectangle(x: 5, y: 3, width: 7, height: 6)

  private func hidden(_ x: Int, _ y: Int) -> Bool {
    let r = Self.rectangle
    return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height
  }

  private func frame(_ format: Frame.Format, hiding secret: Int) throws -> Frame {
    try TellingFrame(format: format) { x, y in
      hidden(x, y) ? secret &* (x &* 5 &+ y &* 3 &+ 1) : x &* 41 &+ y &* 59
    }.frame()
  }

  @Test(
    "a filled mask removes all hidden content, and changes no other sample or metadata",
    arguments: PixelFormat.allCases,
    Orientation.allCases)
  func nothingIsLeft(pixelFormat: PixelFormat, orientation: Orientation) throws {
    // `reference` is upright.
    for eighths in [8, 4, 1] {
      let format = Frame.Format(
        pixelFormat, orientation.seen(Self.reference),
        color: ColorDescription(matrix: .bt601, range: .limited, siting: .left), orientation: orientation,
        eighths: eighths)
      let masks = [PrivacyMask(.rectangle(Self.rectangle), effect: .fill(.black))]
      let (one, other) = (try frame(format, hiding: 1), try frame(format, hiding: 1009))
      #expect(one.bytes != other.bytes)

      let masked = try one.masked(by: masks)

      #expect(try other.masked(by: masks).bytes == masked.bytes)
      #expect(masked.sequence == 3 && masked.timestamp == one.timestamp && masked.iccProfile == [1])
      #expect(masked.format == format && masked.planes == one.planes)
      try expectOnlyHidden(one, masked)
    }
  }

  private func expectOnlyHidden(_ frame: Frame, _ masked: Frame) throws {
    let format = frame.format
    let codes = format.pixelFormat.codes(of: .black, format.color)
    let (before, after) = (frame.bytes, masked.bytes)
    for (index, component) in format.pixelFormat.components.enumerated() {
      let samples = ComponentSamples(component, format.pixelFormat, frame.planes)
      var wrong: [SIMD2<Int>] = []
      TellingFrame.forEachSample(format, component) { row, column, pixels in
        let position = samples.position(row, column)
        let isHidden = pixels.contains { hidden($0.x, $0.y) }
        let expected = isHidden ? codes[index] : samples.code(at: position, before.span)
        if samples.code(at: position, after.span) != expected { wrong.append([column, row]) }
      }
      #expect(wrong.isEmpty, "\(format) component \(index)")
    }
  }

  @Test(
    "a mask is scaled to the size of the frame and rounded outwards",
    arguments: [
      (Size(width: 34, height: 26), Rectangle(x: 10, y: 6, width: 14, height: 12)),
      (Size(width: 51, height: 39), Rectangle(x: 15, y: 9, width: 21, height: 18)),
      // 5 * 13/17 = 3.8 to 12 * 13/17 = 9.2; 3 * 10/13 = 2.3 to 9 * 10/13 = 6.9; and a pixel on each side, since the shape
      // is a little different.
      (Size(width: 13, height: 10), Rectangle(x: 2, y: 1, width: 9, height: 7)),
    ])
  func rescaled(size: Size, expected: Rectangle) throws {
    let masks = [PrivacyMask(.rectangle(Self.rectangle))]
    let frame = try Frame(
      tight: Frame.Format(.grey, size, color: .jfif), bytes: [UInt8](repeating: 9, count: size.pixelCount))

    let masked = try frame.masked(by: masks, reference: Self.reference)
    let hidden = masked.bytes.indices.filter { masked.bytes[$0] == 0 }.map {
      [$0 % size.width, $0 / size.width]
    }

    let wanted = (expected.y..<expected.y + expected.height).flatMap { y in
      (expected.x..<expected.x + expected.width).map { [$0, y] }
    }
    #expect(hidden == wanted)
  }

  @Test(
    "a colour is encoded in every pixel format to within 2 codes", arguments: PixelFormat.allCases)
  func colour(pixelFormat: PixelFormat) throws {
    let orange = RGBColor(red: 250, green: 130, blue: 20)
    for (matrix, range) in [
      (ColorDescription.Matrix.bt601, ColorDescription.QuantizationRange.full), (.bt709, .limited),
      (.bt2020, .full),
    ] {
      let color = ColorDescription(matrix: matrix, range: range, siting: .left)
      let codes = pixelFormat.codes(of: orange, color)

      switch pixelFormat.model {
      case .rgb: #expect(codes.prefix(3) == [250, 130, 20] || codes.prefix(3) == [64250, 33410, 5140])
      case .luma, .ycbcr:
        let chroma = codes.count > 1 ? codes[1...].map { Double($0) } : [128, 128]
        let rgb = ColorConversion(rgbFrom: color)([Double(codes[0]), chroma[0], chroma[1]])
        let luma = ColorConversion(rgbFrom: color)([Double(codes[0]), 128, 128])
        let expected =
          matrix.redWeight * 250 + (1 - matrix.redWeight - matrix.blueWeight) * 130 + matrix.blueWeight * 20
        #expect(abs(luma.x - expected) < 1)
        if codes.count > 1 {
          #expect(abs(rgb.x - 250) < 2 && abs(rgb.y - 130) < 2 && abs(rgb.z - 20) < 2, "\(rgb)")
        }
      }
    }
  }

  @Test("masking without masks copies nothing, and masking a shared frame leaves it unchanged")
  func copies() throws {
    let format = Frame.Format(.grey, Size(width: 4, height: 4), color: .jfif)
    let frame = try Frame(tight: format, bytes: [UInt8](repeating: 9, count: 16))
    func address(_ frame: Frame) -> UnsafePointer<UInt8>? {
      unsafe frame.storage.withSpan { span in unsafe span.withUnsafeBufferPointer { $0.baseAddress } }
    }

    let same = try frame.masked(by: [])
    #expect(unsafe address(same) == address(frame))

    let masked = try frame.masked(by: [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 2, height: 1)))])
    #expect(frame.bytes == [UInt8](repeating: 9, count: 16))
    #expect(masked.bytes == [0, 0] + [UInt8](repeating: 9, count: 14))
  }

  @Test("borrowed memory is masked in place with one owner, and copied with two")
  func lent() throws {
    let format = Frame.Format(.grey, Size(width: 2, height: 1), color: .jfif)
    let masks = [PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 1, height: 1)))]
    weak var memory: TestMemory?
    func lend() throws -> Frame {
      let lent = TestMemory([7, 8])
      memory = lent
      return try Frame(tight: format, storage: FrameBytes(lent))
    }

    let alone = try lend().masked(by: masks)
    #expect(alone.bytes == [0, 8])
    #expect(alone.storage.memory === memory)

    let shared = try lend()
    let masked = try shared.masked(by: masks)
    #expect(shared.bytes == [7, 8] && masked.bytes == [0, 8])
    #expect(masked.storage.memory == nil)
  }
}

/// Memory that is lent; not used by two at a time here.
private final class TestMemory: LentMemory {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }

  var byteCount: Int { array.count }

  var array: [UInt8] { bytes.withLock { $0 } }

  func withSpan<Result, Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    try body(array.span)
  }

  func withMutableSpan<Result, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var copy = array
    var span = copy.mutableSpan
    let result = try body(&span)
    bytes.withLock { $0 = copy }
    return result
  }
}
