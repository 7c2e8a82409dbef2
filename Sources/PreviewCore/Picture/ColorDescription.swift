// The meaning of a Y'CbCr frame's codes: matrix, range and chroma siting, and the defaults for sources that
// do not specify them.

/// The meaning of a frame's samples.
public struct ColorDescription: Sendable, Hashable {
  /// The Y'CbCr matrix; ignored for R'G'B' formats.
  public let matrix: Matrix
  /// The Y'CbCr range; ignored for R'G'B' formats, which are full range.
  public let range: QuantizationRange
  /// The position of subsampled chroma.
  public let siting: ChromaSiting

  /// Creates a description from known values.
  public init(matrix: Matrix, range: QuantizationRange, siting: ChromaSiting) {
    self.matrix = matrix
    self.range = range
    self.siting = siting
  }

  /// JFIF (ITU-T T.871, 6 and 7): BT.601, full range, centred.
  public static let jfif = ColorDescription(matrix: .bt601, range: .full, siting: .centred)

  /// Creates a description of a source of `size`. Nil selects limited range, and for the matrix libplacebo's
  /// rule (`pl_color_system_guess_ycbcr`): BT.709 from 1280 columns or above 576 lines, otherwise BT.601.
  package init(guessedFor size: Size, matrix: Matrix?, range: QuantizationRange?, siting: ChromaSiting) {
    let isHighDefinition = size.width >= 1280 || size.height > 576
    self.init(
      matrix: matrix ?? (isHighDefinition ? .bt709 : .bt601), range: range ?? .limited, siting: siting)
  }
}

extension ColorDescription {
  /// Matrix coefficients between R'G'B' and Y'CbCr (ITU-T H.273, 8.3).
  public enum Matrix: String, Sendable, Hashable, CaseIterable {
    /// BT.601: JPEG, standard definition, most webcams.
    case bt601
    /// BT.709: high definition.
    case bt709
    /// BT.2020, non-constant luminance: ultra high definition.
    case bt2020
    /// SMPTE 240M: high definition before BT.709.
    case smpte240m

    /// The weight of R' in Y' (BT.601-7 2.5.1; BT.709-6 3.2; BT.2020-2 table 4; H.273 table 4).
    package var redWeight: Double {
      switch self {
      case .bt601: 0.299
      case .bt709: 0.2126
      case .bt2020: 0.2627
      case .smpte240m: 0.212
      }
    }

    /// The weight of B' in Y' (from the same clauses).
    package var blueWeight: Double {
      switch self {
      case .bt601: 0.114
      case .bt709: 0.0722
      case .bt2020: 0.0593
      case .smpte240m: 0.087
      }
    }
  }

  /// The codes that stand for black and white (H.273, 8.3: `VideoFullRangeFlag`).
  public enum QuantizationRange: String, Sendable, Hashable, CaseIterable {
    /// 8-bit luma 16...235, chroma 16...240 around 128.
    case limited
    /// 8-bit luma 0...255, chroma 128 +- 127.5.
    case full
  }

  /// The horizontal position of chroma samples among the luma samples that share them. Vertically they are
  /// centred.
  public enum ChromaSiting: String, Sendable, Hashable, CaseIterable {
    /// Half-way between the luma samples: JPEG, Y4M's 420jpeg.
    case centred
    /// On the first luma sample: MPEG-2, H.264, camera formats.
    case left
  }

  /// Values set by the user. They take precedence over the source's values and over defaults.
  public struct Override: Sendable, Hashable {
    /// The matrix to use; nil to keep the source's.
    public let matrix: Matrix?
    /// The range to use; nil to keep the source's.
    public let range: QuantizationRange?

    /// Creates an override; by default it overrides nothing.
    public init(matrix: Matrix? = nil, range: QuantizationRange? = nil) {
      self.matrix = matrix
      self.range = range
    }

    /// Returns `color` with the overridden values replaced.
    package func applied(to color: ColorDescription) -> ColorDescription {
      ColorDescription(matrix: matrix ?? color.matrix, range: range ?? color.range, siting: color.siting)
    }
  }
}

/// An 8-bit R'G'B' colour.
public struct RGBColor: Sendable, Hashable, CustomStringConvertible {
  /// Red, 0...255.
  public let red: UInt8
  /// Green, 0...255.
  public let green: UInt8
  /// Blue, 0...255.
  public let blue: UInt8

  /// Creates a colour from its three codes.
  public init(red: UInt8, green: UInt8, blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// (0, 0, 0).
  public static let black = RGBColor(red: 0, green: 0, blue: 0)
  /// (255, 255, 255).
  public static let white = RGBColor(red: 255, green: 255, blue: 255)

  /// Parses `#RRGGBB` or `RRGGBB`; nil for any other text.
  public init?(_ text: some StringProtocol) {
    let digits = text.first == "#" ? text.dropFirst() : text[...]
    guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit), let code = UInt32(digits, radix: 16) else {
      return nil
    }
    self.init(red: UInt8(code >> 16), green: UInt8(code >> 8 & 0xff), blue: UInt8(code & 0xff))
  }

  /// Red, green and blue, 0...255 each.
  package var codes: SIMD3<Double> { [Double(red), Double(green), Double(blue)] }

  /// `#RRGGBB`.
  public var description: String {
    "#" + (UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue)).digits(6, radix: 16, uppercase: true)
  }
}
