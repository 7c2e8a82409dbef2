// Converts a driver's samples to a frame: unchanged, or to R'G'B' if no supported matrix and range describes them.
internal import Glibc
internal import PreviewCore

/// Converts a driver's picture to a frame.
struct V4L2Conversion: Sendable {
  let layout: V4L2Layout
  /// The format of the frames.
  let format: FrameFormat
  private let color: V4L2Color

  init(_ layout: V4L2Layout, _ color: V4L2Color) {
    self.layout = layout
    self.color = color
    let samples = layout.samples.format
    let isConverted = color.isConstantLuminance(samples)
    format = FrameFormat(
      isConverted ? .rgb24 : samples, layout.size, color: color.description(layout.size, samples))
  }

  /// The frame of a picture; `sources` are its memory planes, each with the bytes that the layout needs.
  func frame(_ sources: [UnsafeRawBufferPointer], _ memory: FramePool) throws -> Frame {
    let samples = layout.samples.format
    let expands = samples.isRGB && color.range(of: samples) == .limited
    if color.isConstantLuminance(samples) {
      var codes = [UInt8](repeating: 0, count: layout.byteCount)
      unsafe codes.withUnsafeMutableBytes { unsafe layout.copy(sources, to: $0, expands: false) }
      let table = V4L2ConstantLuminance(color.range(of: samples))
      return try Frame(tight: format, bytes: table.rgb(codes, samples, layout.size))
    }
    let target = try memory.take(layout.byteCount)
    unsafe target.write { unsafe layout.copy(sources, to: $0, expands: expands) }
    return try Frame(tight: format, storage: FrameBytes(target))
  }
}

/// Converts BT.2020 of constant luminance to R'G'B' (BT.2020-2, table 4), on the CPU and with the nearest chroma: only
/// test drivers are known to use it.
struct V4L2ConstantLuminance: Sendable {
  private let luma: [Double]
  /// Added to Y' to get B' and R'.
  private let blue: [Double]
  private let red: [Double]

  init(_ range: QuantizationRange) {
    let (black, white, chroma) = range == .full ? (0.0, 255.0, 255.0) : (16.0, 219.0, 224.0)
    luma = (0...255).map { (Double($0) - black) / white }
    blue = (0...255).map { code in
      let difference = (Double(code) - 128) / chroma
      return difference * (difference <= 0 ? 1.9404 : 1.5816)
    }
    red = (0...255).map { code in
      let difference = (Double(code) - 128) / chroma
      return difference * (difference <= 0 ? 1.7184 : 0.9936)
    }
  }

  /// The R, G, B codes of Y, Cb, Cr codes.
  func rgb(_ y: UInt8, _ cb: UInt8, _ cr: UInt8) -> (UInt8, UInt8, UInt8) {
    let y = luma[Int(y)]
    let (r, b) = (y + red[Int(cr)], y + blue[Int(cb)])
    let green = (Self.light(y) - 0.2627 * Self.light(r) - 0.0593 * Self.light(b)) / 0.6780
    func code(_ signal: Double) -> UInt8 { UInt8(clamping: Int((signal * 255).rounded())) }
    return (code(r), code(Self.signal(green)), code(b))
  }

  /// The picture whose tight planes of `format` are `codes`.
  func rgb(_ codes: [UInt8], _ format: PixelFormat, _ size: Size) -> [UInt8] {
    guard case .ycbcr(let luma, let cb, let cr) = format.model else { return [] }
    let planes = format.planes
    var offsets: [Int] = []
    var offset = 0
    for plane in planes {
      offsets.append(offset)
      offset += plane.tightBytesPerRow(of: size) * plane.texels(of: size).height
    }
    func code(_ component: Component, _ x: Int, _ y: Int) -> UInt8 {
      let plane = planes[component.plane]
      let row = y / component.subsampling.y * plane.tightBytesPerRow(of: size)
      let texel = x / component.subsampling.x * component.texelStep + component.texelOffset
      return codes[offsets[component.plane] + row + texel * plane.texel.byteCount + component.channel]
    }
    var pixels: [UInt8] = []
    pixels.reserveCapacity(size.pixelCount * 3)
    for y in 0..<size.height {
      for x in 0..<size.width {
        let (red, green, blue) = rgb(code(luma, x, y), code(cb, x, y), code(cr, x, y))
        pixels.append(red)
        pixels.append(green)
        pixels.append(blue)
      }
    }
    return pixels
  }

  private static func light(_ signal: Double) -> Double {
    signal < 4.5 * 0.0181 ? signal / 4.5 : pow((signal + 0.0993) / 1.0993, 1 / 0.45)
  }

  private static func signal(_ light: Double) -> Double {
    light < 0.0181 ? 4.5 * light : 1.0993 * pow(light, 0.45) - 0.0993
  }
}
