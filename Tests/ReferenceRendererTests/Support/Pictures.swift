// Small frames and pictures as rows of numbers, so that a test can show what goes in and what must come out.
// Everything is rendered by the reference renderer, with no limits.
import PreviewCore
import ReferenceRenderer

/// A frame of `format` whose planes are given one after another, without padding.
func frame(
  _ format: PixelFormat, _ width: Int, _ height: Int, _ bytes: [UInt8], _ color: ColorDescription = .jfif,
  exif: Int = 1
) throws -> Frame {
  try Frame(
    tight: Frame.Format(
      format, Size(width: width, height: height), color: color,
      orientation: Orientation(exif: exif) ?? .upright),
    bytes: bytes)
}

/// A grey frame of full range: what is in its rows comes out as R, as G and as B.
func grey(_ rows: [[UInt8]], exif: Int = 1) throws -> Frame {
  try frame(.grey, rows[0].count, rows.count, rows.flatMap { $0 }, exif: exif)
}

/// A frame of R, G, B.
func rgb(_ rows: [[[UInt8]]]) throws -> Frame {
  try frame(.rgb24, rows[0].count, rows.count, rows.flatMap { $0.flatMap { $0 } })
}

/// What a view of a frame looks like.
func render(_ frame: Frame, _ view: ViewConfiguration, as format: Picture.Format = .rgba) throws -> Picture {
  let plan = try RenderPlanner().plan(frame.format, [ViewRequest(view, as: format)])
  return ReferenceRenderer().render(frame, plan)[0]
}

/// The same, with the view in words: `render(frame, "size=4x1,filter=area")`.
func render(_ frame: Frame, _ words: String, as format: Picture.Format = .rgba) throws -> Picture {
  try render(frame, ViewConfiguration(parsing: words.isEmpty ? "test" : "test:\(words)"), as: format)
}

extension Picture {
  /// Rows of one plane; of RGBA, of one channel.
  func rows(_ index: Int = 0) -> [[UInt8]] {
    let (plane, offset) = format == .rgba ? (planes[0], index) : (planes[index], 0)
    return (0..<plane.size.height).map { y in
      (0..<plane.size.width).map { x in
        bytes[plane.offset + offset + y * plane.bytesPerRow + x * format.bytesPerSample]
      }
    }
  }

  /// R, G and B of every pixel, row by row.
  var colors: [[[UInt8]]] {
    let (red, green, blue) = (rows(0), rows(1), rows(2))
    return red.indices.map { y in red[y].indices.map { x in [red[y][x], green[y][x], blue[y][x]] } }
  }

  /// Y', Cb and Cr of all pixels, or of all samples, one plane after another.
  var samples: [[[UInt8]]] { [rows(0), rows(1), rows(2)] }
}

/// `count` samples of one value.
func many(_ value: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }

/// Whether no number of one list is further than `bound` from that of another.
func isWithin(_ bound: Int, _ first: [UInt8], _ second: [UInt8]) -> Bool {
  first.count == second.count && zip(first, second).allSatisfy { abs(Int($0) - Int($1)) <= bound }
}

extension ColorDescription {
  /// What most cameras send.
  static let camera601 = ColorDescription(matrix: .bt601, range: .limited, siting: .left)
  static let camera709 = ColorDescription(matrix: .bt709, range: .limited, siting: .left)
  static let jfifLeft = ColorDescription(matrix: .bt601, range: .full, siting: .left)
}
