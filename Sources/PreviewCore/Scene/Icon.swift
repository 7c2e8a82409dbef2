// Icons for missing pictures, drawn from distance functions: sharp at any size, identical on any machine.
import Synchronization

/// An icon that says what is missing.
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

  /// The icon in a square of `side` pixels, clamped to 1...1024. Repeated calls usually return the identical bitmap.
  public func bitmap(side: Int, color: RGBColor = .white) -> Bitmap {
    let side = min(max(side, Icon.sides.lowerBound), Icon.sides.upperBound)
    return IconCache.shared.bitmap(IconDrawing(icon: self, side: side, color: color))
  }
}

/// Everything that an icon's bitmap depends on.
private struct IconDrawing: Hashable {
  let icon: Icon
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
  /// Bytes of pixels kept, besides the last icon's.
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
