// What is read, and what nobody may see of it.
import ArgumentParser
import GLPreview

/// How much of a JPEG is decoded.
enum DecodeChoice: String, ExpressibleByArgument, CaseIterable {
  case exact
  case fast
}

struct InputOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Raw frames: \(PixelFormat.allCases.map(\.rawValue).joined(separator: " ")).",
      valueName: "FORMAT"))
  var inputFormat: String?

  @Option(help: ArgumentHelp("Of raw frames.", valueName: "WxH"))
  var inputSize: String?

  @Option(
    help: ArgumentHelp(
      "bt601, bt709, bt2020 or smpte240m (default: what the source says, else bt709 from 1280 columns or above 576 lines, bt601 below).",
      valueName: "MATRIX"))
  var matrix: String?

  @Option(
    help: ArgumentHelp(
      "limited or full (default: what the source says, else limited; full for raw grey).", valueName: "RANGE")
  )
  var range: String?

  @Option(
    help: ArgumentHelp(
      "JPEGs: exact decodes them whole; fast at 1/2, 1/4 or 1/8 of their size where all views are shrunk by 3 and more (less where whole pixels meet), by area or lanczos: nearly the same pictures in less time.",
      valueName: "exact|fast"))
  var decode = DecodeChoice.exact

  @Option(
    help: ArgumentHelp(
      "Hide a part of the source, in pixels of the upright source, whatever is rendered: a rectangle, or a polygon 'X,Y X,Y X,Y...', then :fill=#RRGGBB (default: black), :pixelate=N or :blur=N. In a scene NAME=WxH+X+Y... Repeatable.",
      valueName: "WxH+X+Y[:EFFECT]"))
  var mask: [String] = []

  @Option(
    help: ArgumentHelp(
      "The size of the upright source in whose pixels masks and crops are (default: a camera's size=, else its largest; of other sources the first frame's). In a scene NAME=WxH, repeatable.",
      valueName: "WxH"))
  var reference: [String] = []

  @Option(
    help: ArgumentHelp("Refuse sources and pictures of more pixels, in millions.", valueName: "N"))
  var maxMegapixels = 100.0

  func maximumPixels() throws -> Int {
    guard (0.000001...1_000_000).contains(maxMegapixels) else {
      throw UsageError("--max-megapixels \(maxMegapixels) is not within 0.000001...1000000")
    }
    return Int(maxMegapixels * 1_000_000)
  }

  func sourceOptions(for source: String) throws -> SourceOptions {
    guard inputSize == nil || inputFormat != nil || source.hasPrefix("pattern:") else {
      throw UsageError("--input-size is of raw frames and goes with --input-format")
    }
    return SourceOptions(
      inputFormat: try inputFormat.map { try word("input-format", $0) },
      inputSize: try inputSize.map { try size($0) },
      maximumPixels: try maximumPixels(),
      color: ColorOverride(
        matrix: try matrix.map { try word("matrix", $0) }, range: try range.map { try word("range", $0) }))
  }

  /// Of a source that is the only one.
  func masks() throws -> PrivacyMasks { PrivacyMasks(try mask.map { try PrivacyMask(parsing: $0) }) }

  /// Of a source that is the only one.
  func referenceSize() throws -> Size? {
    guard reference.count < 2 else { throw UsageError("--reference is there twice; a source has one") }
    return try reference.first.map { try size($0, "--reference") }
  }

  private func word<Word: RawRepresentable & CaseIterable>(_ name: String, _ text: String) throws -> Word
  where Word.RawValue == String {
    try Words.word("--\(name)", text)
  }

  func size(_ text: String, _ option: String = "--input-size") throws -> Size { try Words.size(option, text) }
}
