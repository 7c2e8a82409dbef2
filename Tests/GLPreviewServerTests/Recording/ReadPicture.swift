// A decoded picture whose samples a test reads: colours, and the number that the pattern `counter` shows.
import Codecs
import PreviewCore

/// A picture, as a file or a decoder gives it.
struct ReadPicture: Sendable {
  private let format: Frame.Format
  private let planes: [Frame.Plane]
  private let bytes: [UInt8]

  init(_ frame: Frame) { (format, planes, bytes) = (frame.format, frame.planes, frame.bytes) }

  /// Decodes a JPEG or a PNG.
  init(file: [UInt8]) throws {
    let isPNG = file.starts(with: [0x89, 0x50])
    self.init(
      try isPNG
        ? PNGDecoder.decode(file, maximumPixels: 1 << 20) : JPEGDecoder.decode(file, maximumPixels: 1 << 20))
  }

  var size: Size { format.size }

  private func code(_ component: Component, _ x: Int, _ y: Int) -> Int {
    let (plane, texel) = (planes[component.plane], format.pixelFormat.planes[component.plane].texel)
    let column = x / component.subsampling.x * component.texelStep + component.texelOffset
    let row = plane.offset + y / component.subsampling.y * plane.bytesPerRow
    return Int(bytes[row + column * texel.byteCount + component.channel * texel.bytesPerChannel])
  }

  /// The codes of a pixel: red, green and blue, or luma and chroma.
  func codes(_ x: Int, _ y: Int) -> [Int] {
    switch format.pixelFormat.model {
    case .rgb(let red, let green, let blue, _): [code(red, x, y), code(green, x, y), code(blue, x, y)]
    case .luma(let luma): [code(luma, x, y)]
    case .ycbcr(let luma, let cb, let cr): [code(luma, x, y), code(cb, x, y), code(cr, x, y)]
    }
  }

  /// The luma of a pixel, or its green.
  func brightness(_ x: Int, _ y: Int) -> Int {
    switch format.pixelFormat.model {
    case .rgb(_, let green, _, _): code(green, x, y)
    case .luma(let luma): code(luma, x, y)
    case .ycbcr(let luma, _, _): code(luma, x, y)
    }
  }

  /// Whether a pixel of a PNG has about the colour of a mask, given as red, green and blue.
  func hasColor(_ color: [Int], _ x: Int, _ y: Int) -> Bool {
    let codes = codes(x, y)
    return codes.count == color.count && zip(codes, color).allSatisfy { abs($0 - $1) <= 25 }
  }

  /// The number of pixels, of those for which `isWanted` is true, that differ by more than `tolerance` from
  /// those of a picture of the same size.
  func differences(
    from other: ReadPicture, by tolerance: Int = 0, where isWanted: (_ x: Int, _ y: Int) -> Bool
  ) -> Int {
    (0..<size.height).reduce(0) { sum, y in
      sum
        + (0..<size.width).count { x in
          isWanted(x, y) && zip(codes(x, y), other.codes(x, y)).contains { abs($0 - $1) > tolerance }
        }
    }
  }

  // MARK: The pattern `counter`

  /// Five columns by seven rows each, the leftmost column is bit 4.
  private static let digits: [[Int]] = [
    [14, 17, 19, 21, 25, 17, 14], [4, 12, 4, 4, 4, 4, 14], [14, 17, 1, 2, 4, 8, 31],
    [31, 2, 4, 2, 1, 17, 14], [2, 6, 10, 18, 31, 2, 2], [31, 16, 30, 1, 1, 17, 14],
    [6, 8, 16, 30, 17, 17, 14], [31, 1, 2, 4, 8, 8, 8], [14, 17, 17, 14, 17, 17, 14],
    [14, 17, 17, 15, 1, 2, 12],
  ]

  /// The number in a picture of all of the pattern, up to 9999; nil if there is none.
  var number: Int? {
    let scale = min(size.width / 25, size.height / 9)
    guard scale > 0 else { return nil }
    let (left, top) = ((size.width - 23 * scale) / 2, (size.height - 7 * scale) / 2)
    var number = 0
    for place in 0..<4 {
      let rows = (0..<7).map { row in
        (0..<5).reduce(0) { bits, column in
          let x = left + (place * 6 + column) * scale + scale / 2
          return bits << 1 | (brightness(x, top + row * scale + scale / 2) > 140 ? 1 : 0)
        }
      }
      guard let digit = Self.digits.firstIndex(of: rows) else { return nil }
      number = number * 10 + digit
    }
    return number
  }
}
