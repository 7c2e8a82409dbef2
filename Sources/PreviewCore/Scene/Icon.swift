// Icons for missing pictures, drawn from distance functions: sharp at any size, identical on any machine.
import Synchronization

extension Fallback {
  /// An icon that shows what is missing.
  public enum Icon: String, Sendable, Hashable, CaseIterable {
    /// A microphone.
    case microphone
    /// A struck-out microphone.
    case microphoneOff
    /// A video camera.
    case camera
    /// A struck-out video camera.
    case cameraOff
    /// Head and shoulders.
    case person
    /// A triangle with an exclamation mark.
    case warning

    /// The allowed sides, in pixels.
    package static let sides = 1...1024

    /// Returns the icon in a square of `side` pixels, clamped to 1...1024. Repeated calls usually return the
    /// identical bitmap.
    package func bitmap(side: Int, color: RGBColor = .white) -> Bitmap {
      let side = min(max(side, Icon.sides.lowerBound), Icon.sides.upperBound)
      return IconCache.shared.bitmap(IconDrawing(icon: self, side: side, color: color))
    }
  }
}

extension StillImage {
  /// Creates a square picture of an icon on a plain colour, such as an avatar for a person without a
  /// photograph.
  ///
  /// - Parameters:
  ///   - icon: the icon.
  ///   - side: the width and height, in pixels, clamped to 1...1024.
  ///   - color: the icon's colour.
  ///   - background: the colour around it.
  public convenience init(
    _ icon: Fallback.Icon, side: Int = 256, color: RGBColor = .white, on background: RGBColor
  ) {
    let bitmap = icon.bitmap(side: side, color: color)
    var bytes = bitmap.bytes
    for pixel in stride(from: 0, to: bytes.count, by: 4) {
      let coverage = Double(bytes[pixel + 3]) / 255
      let mixed = color.codes * coverage + background.codes * (1 - coverage)
      for channel in 0..<3 { bytes[pixel + channel] = UInt8(mixed[channel].rounded()) }
      bytes[pixel + 3] = 255
    }
    guard let frame = try? Frame(tight: Frame.Format(.rgba, bitmap.size, color: .jfif), bytes: bytes) else {
      preconditionFailure("four bytes a pixel are a frame")
    }
    self.init(frame)
  }
}

/// Everything that an icon's bitmap depends on.
private struct IconDrawing: Hashable {
  let icon: Fallback.Icon
  let side: Int
  let color: RGBColor

  /// The coverage of a pixel follows its centre's distance from the edge.
  var bytes: [UInt8] {
    let shape = icon.shape
    let scale = 24 / Double(side)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(side * side * 4)
    for y in 0..<side {
      for x in 0..<side {
        let distance = shape.distance([(Double(x) + 0.5) * scale, (Double(y) + 0.5) * scale]) / scale
        let coverage = min(max(0.5 - distance, 0), 1)
        bytes += [color.red, color.green, color.blue, UInt8((coverage * 255).rounded())]
      }
    }
    return bytes
  }
}

/// Recently used bitmaps, so that the same icon is the same object.
private final class IconCache: Sendable {
  static let shared = IconCache()
  /// The most pixels to cache, besides the last icon's.
  private static let limit = 4 << 20

  private let bitmaps = Mutex<[(drawing: IconDrawing, bitmap: Bitmap)]>([])

  func bitmap(_ drawing: IconDrawing) -> Bitmap {
    bitmaps.withLock { bitmaps in
      if let index = bitmaps.firstIndex(where: { $0.drawing == drawing }) {
        let found = bitmaps.remove(at: index)
        bitmaps.append(found)
        return found.bitmap
      }
      guard
        let bitmap = try? Bitmap(size: Size(width: drawing.side, height: drawing.side), bytes: drawing.bytes)
      else { preconditionFailure("a square of bytes is a bitmap") }
      bitmaps.append((drawing, bitmap))
      var kept = bitmaps.reduce(0) { $0 + $1.bitmap.size.pixelCount }
      while kept > IconCache.limit, bitmaps.count > 1 {
        kept -= bitmaps.removeFirst().bitmap.size.pixelCount
      }
      return bitmap
    }
  }
}

/// A shape in a square of 24 x 24 units, y down, as a signed distance function: the distance to the edge,
/// negative inside (Quilez, "2D distance functions").
private indirect enum IconShape {
  /// All points within `radius` of a line segment; a disc if both ends are the same.
  case capsule(SIMD2<Double>, SIMD2<Double>, radius: Double)
  /// A rectangle between two corners, with rounded corners.
  case box(SIMD2<Double>, SIMD2<Double>, radius: Double)
  /// All points within `radius` of a polygon.
  case polygon([SIMD2<Double>], radius: Double)
  /// The lower half of a ring; `radius` is to the middle of its line.
  case cradle(center: SIMD2<Double>, radius: Double, width: Double)
  /// A line along a shape's edge.
  case outline(IconShape, width: Double)
  /// The points in any of the shapes.
  case union([IconShape])
  /// The points in the first shape but not in the second.
  case difference(IconShape, IconShape)

  /// Returns the distance to the edge; negative inside.
  func distance(_ point: SIMD2<Double>) -> Double {
    switch self {
    case .capsule(let start, let end, let radius):
      return IconShape.toLine(point, start, end) - radius
    case .box(let corner, let other, let radius):
      let halves = (other - corner) / 2 - SIMD2(repeating: radius)
      let offset = point - (corner + other) / 2
      let beyond = SIMD2(abs(offset.x), abs(offset.y)) - halves
      let outside = SIMD2(max(beyond.x, 0), max(beyond.y, 0))
      return IconShape.length(outside) + min(max(beyond.x, beyond.y), 0) - radius
    case .polygon(let corners, let radius):
      return IconShape.toPolygon(point, corners) - radius
    case .cradle(let center, let radius, let width):
      let offset = point - center
      let ring = abs(IconShape.length(offset) - radius)
      // Above the centre, the ends are nearest.
      let ends = IconShape.length([abs(offset.x) - radius, offset.y])
      return (offset.y >= 0 ? ring : ends) - width / 2
    case .outline(let shape, let width):
      return abs(shape.distance(point)) - width / 2
    case .union(let shapes):
      return shapes.reduce(.infinity) { min($0, $1.distance(point)) }
    case .difference(let shape, let other):
      return max(shape.distance(point), -other.distance(point))
    }
  }

  private static func length(_ vector: SIMD2<Double>) -> Double { (vector * vector).sum().squareRoot() }

  private static func toLine(_ point: SIMD2<Double>, _ start: SIMD2<Double>, _ end: SIMD2<Double>) -> Double {
    let line = end - start
    let lengthSquared = (line * line).sum()
    let along = lengthSquared == 0 ? 0 : min(max(((point - start) * line).sum() / lengthSquared, 0), 1)
    return length(point - start - line * along)
  }

  /// Returns the distance to the nearest side; inside if a ray to the right crosses an odd number of sides.
  private static func toPolygon(_ point: SIMD2<Double>, _ corners: [SIMD2<Double>]) -> Double {
    var distance = Double.infinity
    var isInside = false
    for (index, end) in corners.enumerated() {
      let start = corners[(index + corners.count - 1) % corners.count]
      distance = min(distance, toLine(point, start, end))
      guard (start.y > point.y) != (end.y > point.y) else { continue }
      let crossing = start.x + (point.y - start.y) / (end.y - start.y) * (end.x - start.x)
      if crossing > point.x { isInside.toggle() }
    }
    return isInside ? -distance : distance
  }
}

extension Fallback.Icon {
  fileprivate var shape: IconShape {
    switch self {
    case .microphone:
      .union([
        .capsule([12, 6], [12, 11], radius: 3),
        .cradle(center: [12, 11], radius: 5.5, width: 1.8),
        .capsule([12, 16.5], [12, 20], radius: 0.9),
        .capsule([8.5, 20.5], [15.5, 20.5], radius: 0.9),
      ])
    case .camera:
      .union([
        .box([2.5, 6], [15.5, 18], radius: 2.5),
        .polygon([[17.2, 11], [21, 8], [21, 16], [17.2, 13]], radius: 0.8),
      ])
    case .microphoneOff: Self.struckOut(.microphone)
    case .cameraOff: Self.struckOut(.camera)
    case .person:
      .union([
        .capsule([12, 8], [12, 8], radius: 4.2),
        .difference(.capsule([8.5, 21], [15.5, 21], radius: 6.5), .box([0, 20.5], [24, 40], radius: 0)),
      ])
    case .warning:
      .union([
        .outline(.polygon([[12, 4.2], [21, 19.5], [3, 19.5]], radius: 0.6), width: 1.8),
        .capsule([12, 10], [12, 13.4], radius: 1),
        .capsule([12, 16.6], [12, 16.6], radius: 1.1),
      ])
    }
  }

  /// Returns the icon with a diagonal line across it and a gap beside the line.
  private static func struckOut(_ icon: Fallback.Icon) -> IconShape {
    .union([
      .difference(icon.shape, .capsule([4, 3.4], [20.6, 20], radius: 2)),
      .capsule([3.6, 3.4], [20.4, 20.2], radius: 0.9),
    ])
  }
}
