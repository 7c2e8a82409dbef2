// The picture that `glpreview lens` draws over another one: curves of a lens, and points on straight edges
// with the curves that they should have.
import GLPreview

/// Draws what a lens claims to show.
struct LensDrawing {
  private let extent: LensExtent
  private let lines: [StraightLine]
  private let size: Size
  /// The width of a curve, in pixels.
  private let width: Double
  /// R, G, B, A of each pixel.
  private var bytes: [UInt8] = []

  private static let roomColor = RGBColor(red: 0, green: 220, blue: 255)
  private static let angleColor = RGBColor(red: 255, green: 220, blue: 0)
  private static let rimColor = RGBColor(red: 255, green: 64, blue: 64)
  private static let lineColor = RGBColor(red: 255, green: 0, blue: 255)
  private static let opacity = 0.85

  init(_ extent: LensExtent, _ lines: [StraightLine]) {
    self.extent = extent
    self.lines = lines
    size = extent.map.size
    width = max(Double(min(size.width, size.height)) / 700, 1)
  }

  /// Returns the curves as layers of the picture's size, and a label for each angle, if there are fonts.
  func layers() throws -> [Layer] {
    var drawing = self
    drawing.bytes = [UInt8](repeating: 0, count: size.pixelCount * 4)
    for curve in extent.room { drawing.draw(curve, Self.roomColor) }
    for angle in extent.angles { drawing.draw(extent.circle(of: angle), Self.angleColor) }
    drawing.draw(extent.rim, Self.rimColor)
    let (center, arm) = (extent.map.center, width * 12)
    drawing.draw([center - SIMD2(arm, 0), center + SIMD2(arm, 0)], Self.rimColor)
    drawing.draw([center - SIMD2(0, arm), center + SIMD2(0, arm)], Self.rimColor)
    for line in lines {
      drawing.draw(line.curve(through: extent.map), Self.lineColor)
      for point in line.points { drawing.drawSegment(point, point, Self.lineColor, width: 4 * width) }
    }
    let bitmap = try Bitmap(size: size, bytes: drawing.bytes)
    return [Layer(.bitmap(bitmap), in: Rectangle(all: size), opacity: Self.opacity)] + labels
  }

  /// The angles, to the right of the centre.
  private var labels: [Layer] {
    let height = min(max(Int(width * 14), 10), Label.Font.sizes.upperBound)
    return extent.angles.compactMap { angle in
      guard let point = extent.circle(of: angle).first, point.x.magnitude < 1e6, point.y.magnitude < 1e6,
        let bitmap = PangoTextRenderer.shared.bitmap(
          for: StyledText(
            "\(angle)°", font: Label.Font(size: height), color: Self.angleColor,
            maximumSize: Size(width: 8 * height, height: 2 * height)))
      else { return nil }
      let place = Rectangle(
        x: Int(point.x) + 2, y: Int(point.y) + 2, width: bitmap.size.width, height: bitmap.size.height)
      return place.isInside(size) ? Layer(.bitmap(bitmap), in: place) : nil
    }
  }

  private mutating func draw(_ curve: LensExtent.Curve, _ color: RGBColor) {
    for (start, end) in zip(curve, curve.dropFirst()) { drawSegment(start, end, color, width: width) }
  }

  /// Draws a line with round ends. A pixel's opacity is its part of the line's width, by its centre's distance.
  private mutating func drawSegment(
    _ start: SIMD2<Double>, _ end: SIMD2<Double>, _ color: RGBColor, width: Double
  ) {
    let reach = width / 2 + 1
    let whole = SIMD2(Double(size.width), Double(size.height))
    let first = pointwiseMax(pointwiseMin(start, end) - reach, SIMD2.zero)
    let last = pointwiseMin(pointwiseMax(start, end) + reach, whole)
    guard first.x < last.x, first.y < last.y else { return }
    let way = end - start
    let square = (way * way).sum()
    for row in Int(first.y)..<Int(last.y.rounded(.up)) {
      for column in Int(first.x)..<Int(last.x.rounded(.up)) {
        let offset = SIMD2(Double(column) + 0.5, Double(row) + 0.5) - start
        let part = square > 0 ? min(max((offset * way).sum() / square, 0), 1) : 0
        let rest = offset - way * part
        let cover = min(width / 2 + 0.5 - (rest * rest).sum().squareRoot(), 1)
        let alpha = UInt8((max(cover, 0) * 255).rounded())
        let place = 4 * (row * size.width + column)
        guard alpha > 0, alpha >= bytes[place + 3] else { continue }
        (bytes[place], bytes[place + 1], bytes[place + 2]) = (color.red, color.green, color.blue)
        bytes[place + 3] = alpha
      }
    }
  }
}
