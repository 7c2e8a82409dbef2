// The options for reading a source: raw formats, colours, decoding, masks, the lens, limits.
import ArgumentParser
import GLPreview

/// The amount of detail that is decoded from JPEGs.
enum DecodeChoice: String, ExpressibleByArgument, CaseIterable {
  case exact
  case fast
}

struct InputOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The input is raw frames of this format: \(PixelFormat.allCases.map(\.rawValue).joined(separator: " ")).",
      valueName: "FORMAT"))
  var inputFormat: String?

  @Option(help: ArgumentHelp("The size of raw frames.", valueName: "WxH"))
  var inputSize: String?

  @Option(
    help: ArgumentHelp(
      "The Y'CbCr matrix: bt601, bt709, bt2020 or smpte240m (default: the source's; if unknown, bt709 from 1280 columns or above 576 lines, otherwise bt601).",
      valueName: "MATRIX"))
  var matrix: String?

  @Option(
    help: ArgumentHelp(
      "The quantization range: limited or full (default: the source's; if unknown, limited, or full for raw grey).",
      valueName: "RANGE")
  )
  var range: String?

  @Option(
    help: ArgumentHelp(
      "How JPEGs are decoded: exact at full size; fast at 1/2, 1/4 or 1/8 if all views shrink the picture by 3 or more (less if pixels align), with area, bicubic, mitchell or lanczos. Fast takes less time and looks almost the same (default: exact; fast with several SOURCEs).",
      valueName: "exact|fast"))
  var decode: DecodeChoice?

  @Option(
    help: ArgumentHelp(
      "Hide a part of the source in everything that is rendered: a rectangle, or a polygon 'X,Y X,Y X,Y...', in pixels of the upright source, optionally followed by :fill=#RRGGBB (default: black), :pixelate=N or :blur=N. In a scene: NAME=WxH+X+Y... Repeatable.",
      valueName: "WxH+X+Y[:EFFECT]"))
  var mask: [String] = []

  @Option(
    help: ArgumentHelp(
      "The size of the upright source that masks and crops refer to (default: a camera's size=, or its largest size; for other sources, that of the first frame). In a scene: NAME=WxH, repeatable.",
      valueName: "WxH"))
  var reference: [String] = []

  @Option(
    help: ArgumentHelp(
      "The lens of the source, for views with a projection: 'fisheye fov 190', or a calibration of OpenCV or lensfun, such as 'pinhole matrix FX,FY,CX,CY size WxH distortion K1,K2,P1,P2,K3' or 'ptlens A,B,C fov 70'. In a scene: NAME=LENS, repeatable.",
      valueName: "LENS"))
  var lens: [String] = []

  @Option(
    help: ArgumentHelp("Reject sources and pictures with more than N million pixels.", valueName: "N"))
  var maxMegapixels = Self.usualMegapixels

  /// The largest pictures of phones have 200 megapixels, and the user has chosen the files.
  private static let usualMegapixels = 250.0

  /// The options as command-line arguments that parse to the same options.
  var words: [String] {
    let single: [(String, String?)] = [
      ("input-format", inputFormat), ("input-size", inputSize), ("matrix", matrix), ("range", range),
      ("decode", decode?.rawValue),
      ("max-megapixels", maxMegapixels == Self.usualMegapixels ? nil : "\(maxMegapixels)"),
    ]
    return single.compactMap { name, value in value.map { "--\(name)=\($0)" } }
      + mask.map { "--mask=\($0)" } + reference.map { "--reference=\($0)" } + lens.map { "--lens=\($0)" }
  }

  func maximumPixels() throws -> Int {
    guard (0.000001...1_000_000).contains(maxMegapixels) else {
      throw UsageError("--max-megapixels \(maxMegapixels) is not within 0.000001...1000000")
    }
    return Int(maxMegapixels * 1_000_000)
  }

  func sourceOptions(for source: String) throws -> SourceOptions {
    guard inputSize == nil || inputFormat != nil || SourceLocator(source).kind.origin == .generated else {
      throw UsageError("--input-size requires --input-format")
    }
    return SourceOptions(
      inputFormat: try inputFormat.map { try ParameterParser.choice("--input-format", $0) },
      inputSize: try inputSize.map { try ParameterParser.size("--input-size", $0) },
      maximumPixels: try maximumPixels(),
      color: ColorDescription.Override(
        matrix: try matrix.map { try ParameterParser.choice("--matrix", $0) },
        range: try range.map { try ParameterParser.choice("--range", $0) }))
  }

  /// Returns the masks of a single source.
  func masks() throws -> [PrivacyMask] { try mask.map { try PrivacyMask(parsing: $0) } }

  /// Returns the reference size of a single source.
  func referenceSize() throws -> Size? {
    guard reference.count < 2 else { throw UsageError("--reference is given twice") }
    return try reference.first.map { try ParameterParser.size("--reference", $0) }
  }

  /// Returns the lens of a single source.
  func sourceLens() throws -> Lens? {
    guard lens.count < 2 else { throw UsageError("--lens is given twice") }
    return try lens.first.map { try Lens(parsing: $0) }
  }
}
