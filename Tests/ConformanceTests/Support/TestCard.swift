// A picture that shows what was done to it: no two corners, edges or directions of it are alike.
import PreviewCore

/// A small test card.
///
/// Quarters of red, green, blue and yellow; an F that no rotation or reflection maps to itself; a ramp at the
/// bottom; fine stripes at the right; the outermost pixels are white above, black below, cyan left, magenta right.
enum TestCard {
  private static let letter = ["#####", "#....", "####.", "#....", "#...."]

  /// The colour at a pixel of a card of `size`.
  static func color(_ x: Int, _ y: Int, of size: Size) -> SIMD3<Double> {
    if y == 0 { return [255, 255, 255] }
    if y == size.height - 1 { return [0, 0, 0] }
    if x == 0 { return [0, 255, 255] }
    if x == size.width - 1 { return [255, 0, 255] }
    let unit = max(1, min(size.width, size.height) / 9)
    let (left, top) = (x - size.width / 2 + 2 * unit, y - size.height / 2 + 2 * unit)
    if left >= 0, top >= 0, left / unit < 5, top / unit < 5, Array(letter[top / unit])[left / unit] == "#" {
      return [240, 240, 240]
    }
    if y >= size.height * 5 / 6 { return SIMD3(repeating: Double(x * 255 / max(1, size.width - 1))) }
    if x >= size.width * 5 / 6 { return SIMD3(repeating: x % 2 == 0 ? 255 : 0) }
    switch (x < size.width / 2, y < size.height / 2) {
    case (true, true): return [200, 30, 30]
    case (false, true): return [30, 160, 60]
    case (true, false): return [40, 60, 200]
    case (false, false): return [220, 200, 40]
    }
  }

  /// The card as a frame of any format; transparent formats let the background through along a diagonal.
  static func frame(_ format: Frame.Format) throws(Frame.LayoutError) -> Frame {
    var bytes: [UInt8] = []
    var planes: [Frame.Plane] = []
    for plane in format.pixelFormat.planes {
      let row = plane.tightBytesPerRow(of: format.size)
      planes.append(Frame.Plane(offset: bytes.count, bytesPerRow: row))
      bytes += [UInt8](repeating: 128, count: row * plane.texels(of: format.size).height)
    }
    var canvas = Canvas(format: format, planes: planes, bytes: bytes)
    switch format.pixelFormat.model {
    case .rgb(let red, let green, let blue, let alpha):
      canvas.paint(red) { $0.x }
      canvas.paint(green) { $0.y }
      canvas.paint(blue) { $0.z }
      if let alpha { canvas.paintAlpha(alpha) }
    case .luma(let luma): canvas.paint(luma) { format.codes($0).x }
    case .ycbcr(let luma, let cb, let cr):
      canvas.paint(luma) { format.codes($0).x }
      canvas.paint(cb) { format.codes($0).y }
      canvas.paint(cr) { format.codes($0).z }
    }
    return try Frame(format, bytes: canvas.bytes, planes: planes)
  }
}

/// The bytes of a frame that is being painted.
private struct Canvas {
  let format: Frame.Format
  let planes: [Frame.Plane]
  var bytes: [UInt8]

  /// Gives each sample of a component the mean of the pixels that share it.
  mutating func paint(_ component: Component, _ value: (SIMD3<Double>) -> Double) {
    let samples = component.subsampling.planeSize(of: format.size)
    for y in 0..<samples.height {
      for x in 0..<samples.width {
        var sum = 0.0
        var count = 0.0
        for row in y * component.subsampling.y..<min((y + 1) * component.subsampling.y, format.size.height) {
          for column in x
            * component.subsampling.x..<min((x + 1) * component.subsampling.x, format.size.width)
          {
            sum += value(TestCard.color(column, row, of: format.size))
            count += 1
          }
        }
        put(sum / count, component, x, y)
      }
    }
  }

  mutating func paintAlpha(_ alpha: Component) {
    for y in 0..<format.size.height {
      for x in 0..<format.size.width { put(abs(x - y) < 4 ? Double(abs(x - y) * 64) : 255, alpha, x, y) }
    }
  }

  private mutating func put(_ code: Double, _ component: Component, _ x: Int, _ y: Int) {
    let texel = format.pixelFormat.planes[component.plane].texel
    let column = x * component.texelStep + component.texelOffset
    let byte =
      planes[component.plane].offset + y * planes[component.plane].bytesPerRow + column * texel.byteCount
      + component.channel * texel.bytesPerChannel
    let rounded = UInt8(min(max(code + 0.5, 0), 255))
    // 16 bits of 8: the code twice, the same in either byte order.
    for index in 0..<texel.bytesPerChannel { bytes[byte + index] = rounded }
  }
}

extension Frame.Format {
  /// Y'CbCr codes of a colour, by the frame's matrix and range.
  fileprivate func codes(_ rgb: SIMD3<Double>) -> SIMD3<Double> {
    let (red, blue) = (color.matrix.redWeight, color.matrix.blueWeight)
    let luma = red * rgb.x + (1 - red - blue) * rgb.y + blue * rgb.z
    let cb = (rgb.z - luma) / (2 * (1 - blue))
    let cr = (rgb.x - luma) / (2 * (1 - red))
    return color.range == .full
      ? [luma, cb + 128, cr + 128] : [luma * 219 / 255 + 16, cb * 224 / 255 + 128, cr * 224 / 255 + 128]
  }
}
