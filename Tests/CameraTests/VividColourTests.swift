// Whether the bars are what `VividBars` says: their bytes, read by read(2), decoded here by the standards' formulas.
import Foundation
import PreviewCore
import Testing

extension CameraMachine {
  @Suite("Vivid's colour bars") struct VividColourTests {
    private let camera: Vivid

    init() throws { camera = try Vivid.camera() }

    @Test(
      "the driver reports the colour space, encoding, quantization and transfer that were set",
      arguments: VividColour.all)
    func report(colour: VividColour) throws {
      try camera.setFormat("YUYV", width: 320, height: 180)
      try colour.set(on: camera)
      let format = try camera.format()
      #expect(format.colorspace == colour.space.v4l2)
      #expect(format.encoding == UInt32(colour.encoding.rawValue))
      #expect(format.quantization == UInt32(colour.quantization.rawValue))
      #expect(format.transfer == UInt32(colour.transfer))
    }

    @Test(
      "colour bars decoded as the driver reports are 75 % R'G'B' for every colour setting",
      arguments: VividColour.all)
    func bars(colour: VividColour) throws {
      try camera.setFormat("YUYV", width: 320, height: 180)
      try colour.set(on: camera)

      let codes = try Self.bars(camera.rawFrame())
      let decoded = codes.map { colour.decoded($0) }

      #expect(VividBars.distance(of: decoded) <= VividBars.tolerance, "\(codes) is \(decoded)")

      // The library's own matrices say the same of those codes.
      guard let matrix = colour.matrix else { return }
      let description = ColorDescription(matrix: matrix, range: colour.effectiveRange, siting: .left)
      let converted = codes.map {
        ColorConversion(rgbFrom: description)($0).clamped(lowerBound: .zero, upperBound: [255, 255, 255])
      }
      #expect(VividBars.distance(of: converted) <= VividBars.tolerance, "\(codes) is \(converted)")
    }

    @Test("R'G'B' bars have the codes 0 and 191 in full range, and 16 and 180 in limited range")
    func rgb() throws {
      for (quantization, on, off) in [
        (VividColour.Quantization.standard, 191, 0), (.full, 191, 0), (.limited, 180, 16),
      ] {
        try camera.setFormat("RGB3", width: 320, height: 180)
        try VividColour(quantization: quantization).set(on: camera)

        let (format, bytes) = try camera.rawFrame()

        for (bar, colour) in VividBars.colours.enumerated() {
          let start = 90 * format.bytesPerRow + 3 * VividBars.column(bar, width: format.width)
          let expected = [colour.red, colour.green, colour.blue].map { $0 == 0 ? off : on }
          #expect(bytes[start..<start + 3].map(Int.init) == expected)
        }
      }
    }

    /// The codes of the eight bars of a frame of YUYV.
    private static func bars(_ frame: (format: VideoFormat, bytes: [UInt8])) -> [SIMD3<Double>] {
      let row = frame.format.height / 2 * frame.format.bytesPerRow
      return (0..<8).map { bar in
        let pair = row + VividBars.column(bar, width: frame.format.width) / 2 * 4
        return SIMD3([0, 1, 3].map { Double(frame.bytes[pair + $0]) })
      }
    }
  }
}

extension VividColour {
  /// R'G'B' codes from Y'CbCr codes: clause 4 of BT.601, 709 and 2020 and of SMPTE 240M, with their weights of R' and B'.
  fileprivate func decoded(_ codes: SIMD3<Double>) -> SIMD3<Double> {
    let (black, luma, chroma) = effectiveRange == .full ? (0.0, 255.0, 255.0) : (16.0, 219.0, 224.0)
    let (y, cb, cr) = ((codes.x - black) / luma, (codes.y - 128) / chroma, (codes.z - 128) / chroma)
    let result: SIMD3<Double>
    if effectiveEncoding == .bt2020ConstantLuminance {
      result = Self.constantLuminance(y, cb, cr)
    } else {
      let (red, blue) =
        switch effectiveEncoding {
        case .rec709, .xv709: (0.2126, 0.0722)
        case .bt2020: (0.2627, 0.0593)
        case .smpte240m: (0.212, 0.087)
        default: (0.299, 0.114)
        }
      let (r, b) = (y + 2 * (1 - red) * cr, y + 2 * (1 - blue) * cb)
      result = [r, (y - red * r - blue * b) / (1 - red - blue), b]
    }
    return (255 * result).clamped(lowerBound: .zero, upperBound: [255, 255, 255])
  }

  /// BT.2020-2, table 4, "Y'cC'bcC'rc", and table 4's transfer function: luminance is a sum of light.
  private static func constantLuminance(_ y: Double, _ cb: Double, _ cr: Double) -> SIMD3<Double> {
    func light(_ signal: Double) -> Double {
      signal < 4.5 * 0.0181 ? signal / 4.5 : pow((signal + 0.0993) / 1.0993, 1 / 0.45)
    }
    func signal(_ light: Double) -> Double {
      light < 0.0181 ? 4.5 * light : 1.0993 * pow(light, 0.45) - 0.0993
    }
    let blue = y + cb * (cb <= 0 ? 1.9404 : 1.5816)
    let red = y + cr * (cr <= 0 ? 1.7184 : 0.9936)
    let green = signal((light(y) - 0.2627 * light(red) - 0.0593 * light(blue)) / 0.6780)
    return [red, green, blue]
  }
}
