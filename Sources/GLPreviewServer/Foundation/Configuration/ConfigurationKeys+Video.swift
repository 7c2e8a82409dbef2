// The configuration keys below `video`; URLs have the same names.

extension ConfigurationKeys {
  static let video: [ConfigurationKey<VideoConfiguration>] = [
    .init(
      "bitrate", .whole(16_000...100_000_000), \.bitrate, "4 a pixel, at least 250000",
      "the most bits of H.264 a second"),
    .init(
      "quality", .whole(1...100), \.quality, "`80`", "the quality of H.264, as of JPEGs; the bit rate caps it"
    ),
    .init("keyframe", .number(0.1...60), "`10`", "the most seconds between two key pictures") {
      $0.keyframeInterval = .seconds($1)
    },
    .init("encoder", .choice, \.encoder, "`auto`", "who encodes H.264 ([video.md](video.md))"),
  ]
}
