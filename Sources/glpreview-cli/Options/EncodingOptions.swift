// The options for encoding pictures.
public import ArgumentParser
public import GLPreview

struct EncodingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Quality of JPEG, .mp4 and .h264, 1...100.", valueName: "N"))
  var quality = 80

  @Option(help: ArgumentHelp("JPEG chroma subsampling: 420, 422 or 444.", valueName: "CHROMA"))
  var subsampling = Picture.ChromaSubsampling.yuv420

  @Option(
    help: ArgumentHelp(
      "Size limit of a picture, in bytes. A JPEG gets the highest quality of 30 or more that fits, otherwise a smaller size at quality 50.",
      valueName: "N"))
  var maxBytes: Int?

  @Flag(help: "Write the capture time into JPEGs of live sources and scenes, as EXIF.")
  var exif = false

  @Option(
    help: ArgumentHelp(
      "The format if the output's name does not give it: jpeg, png, mp4, h264, or y4m, yuv, rgba (uncompressed frames in sequence).",
      valueName: "FORMAT"))
  var format: OutputFormat?

  @Option(
    help: ArgumentHelp(
      "Frame rate of a video, whatever the capture times; with --every or --interval, this makes a time-lapse.",
      valueName: "N"))
  var fps: Double?

  @Option(
    help: ArgumentHelp("Maximum bit rate of .mp4 and .h264, in bit/s (default: 4 per pixel).", valueName: "N")
  )
  var bitrate: Int?

  @Option(
    help: ArgumentHelp(
      "The encoder of .mp4 and .h264: \(VideoConfiguration.Encoder.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "ENCODER"))
  var encoder = VideoConfiguration.Encoder.automatic

  func validate() throws {
    if let fps, !(fps.isFinite && fps >= 0.001 && fps <= 1000) {
      throw ValidationError("--fps \(fps) is not within 0.001...1000")
    }
    if let bitrate, !(16_000...1_000_000_000).contains(bitrate) {
      throw ValidationError("--bitrate \(bitrate) is not within 16000...1000000000")
    }
    guard (1...100).contains(quality) else {
      throw ValidationError("--quality \(quality) is not within 1...100")
    }
    if let maxBytes, maxBytes < 1 { throw ValidationError("--max-bytes \(maxBytes) is not at least 1") }
  }

  /// The options for pictures as command-line arguments that parse to the same options.
  var words: [String] {
    var words: [String] = []
    if quality != 80 { words.append("--quality=\(quality)") }
    if subsampling != .yuv420 { words.append("--subsampling=\(subsampling.rawValue)") }
    if let maxBytes { words.append("--max-bytes=\(maxBytes)") }
    if exif { words.append("--exif") }
    if let format { words.append("--format=\(format)") }
    return words
  }

  /// The first option given that applies only to videos; nil if there is none.
  var optionOfVideos: String? {
    [("--fps", fps != nil), ("--bitrate", bitrate != nil), ("--encoder", encoder != .automatic)]
      .first(where: \.1)?.0
  }

  func encoder(_ format: EncodedPicture.Format) -> PictureEncoder {
    PictureEncoder(format, quality: quality, subsampling: subsampling, maximumBytes: maxBytes)
  }
}

extension EncodingOptions {
  var video: VideoConfiguration { VideoConfiguration(bitrate: bitrate, quality: quality, encoder: encoder) }
}

extension Picture.ChromaSubsampling: ExpressibleByArgument {}
extension VideoConfiguration.Encoder: ExpressibleByArgument {}

/// The value of `--format`, or the extension of an output's name.
enum OutputFormat: Sendable, Hashable, CustomStringConvertible, ExpressibleByArgument {
  case picture(EncodedPicture.Format)
  case video(VideoFormat)

  init?(fileName: String) {
    self.init(EncodedPicture.Format(fileName: fileName), VideoFormat(fileName: fileName))
  }

  var description: String {
    switch self {
    case .picture(let format): format.rawValue
    case .video(let format): format.rawValue
    }
  }

  /// Parses `--format`.
  init?(argument: String) {
    self.init(EncodedPicture.Format(rawValue: argument), VideoFormat(rawValue: argument))
  }

  private init?(_ picture: EncodedPicture.Format?, _ video: VideoFormat?) {
    guard let format = picture.map(Self.picture) ?? video.map(Self.video) else { return nil }
    self = format
  }

  /// The values listed in `--help`.
  static var allValueStrings: [String] {
    EncodedPicture.Format.allCases.map(\.rawValue) + VideoFormat.allCases.map(\.rawValue)
  }
}
