// The pattern behind NO SIGNAL: colour bars, dim enough for text on them.

/// A few pixels, to be scaled to any size with sharp edges.
enum NoSignalPattern {
  /// The columns' colours, light to dark.
  private static let bars: [RGBColor] = [
    RGBColor(red: 0x70, green: 0x70, blue: 0x70), RGBColor(red: 0x70, green: 0x70, blue: 0x18),
    RGBColor(red: 0x18, green: 0x70, blue: 0x70), RGBColor(red: 0x18, green: 0x70, blue: 0x18),
    RGBColor(red: 0x70, green: 0x18, blue: 0x70), RGBColor(red: 0x70, green: 0x18, blue: 0x18),
    RGBColor(red: 0x18, green: 0x18, blue: 0x70),
  ]

  /// 7 x 6 pixels: four rows of bars, one of them in reverse order, and one of greys.
  static let image: StillImage = {
    let greys = (0..<UInt8(bars.count)).map { RGBColor(red: 16 * $0, green: 16 * $0, blue: 16 * $0) }
    let rows = Array(repeating: bars, count: 4) + [bars.reversed(), greys]
    let format = FrameFormat(.rgb24, Size(width: bars.count, height: rows.count), color: .jfif)
    guard let frame = try? Frame(tight: format, bytes: rows.joined().flatMap { [$0.red, $0.green, $0.blue] })
    else { preconditionFailure("three bytes a pixel are a frame") }
    return StillImage(frame)
  }()
}
