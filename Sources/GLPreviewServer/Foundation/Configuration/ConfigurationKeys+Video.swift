// The configuration keys below `video`; URLs have the same names.

extension ConfigurationKeys {
  static let video: [ConfigurationKey<VideoConfiguration>] = [
    .init(
      "bitrate", .whole(16_000...100_000_000), \.bitrate, "4 per pixel, at least 250000",
      "the maximum bit rate of H.264, in bits per second"),
    .init(
      "quality", .whole(1...100), \.quality, "`80`",
      "the quality of H.264, on the scale of JPEG quality; the bit rate limits it"
    ),
    .init("keyframe", .number(0.1...60), "`10`", "the maximum time between two keyframes, in seconds") {
      $0.keyframeInterval = .seconds($1)
    },
    .init("encoder", .choice, \.encoder, "`auto`", "the encoder of H.264 ([video.md](video.md))"),
  ]
}
