// How pictures are encoded.
import ArgumentParser
import GLPreview

struct EncodingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("JPEG quality, 1...100.", valueName: "N"))
  var quality = 80

  @Option(help: ArgumentHelp("JPEG chroma: 420, 422 or 444.", valueName: "CHROMA"))
  var subsampling = ChromaSubsampling.yuv420

  @Option(
    help: ArgumentHelp(
      "The most bytes of a picture: the best JPEG quality that fits is taken.", valueName: "N"))
  var maxBytes: Int?

  @Option(
    help: ArgumentHelp(
      "jpeg or png, or y4m, yuv, rgba (uncompressed, all frames one after another), where the output's name does not tell.",
      valueName: "FORMAT"))
  var format: OutputFormat?

  func validate() throws {
    guard (1...100).contains(quality) else {
      throw ValidationError("--quality \(quality) is not within 1...100")
    }
    if let maxBytes, maxBytes < 1 { throw ValidationError("--max-bytes \(maxBytes) is not at least 1") }
  }

  func encoder(_ format: EncodedFormat) -> PictureEncoder {
    PictureEncoder(format, quality: quality, subsampling: subsampling, maximumBytes: maxBytes)
  }
}
