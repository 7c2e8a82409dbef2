// Recognises live sources by name: cameras, servers, commands.

/// The kinds of live sources that can be recognised by name.
enum LiveKind: Sendable, Hashable {
  /// `/dev/videoN`, `/dev/v4l/by-id/...`
  case camera
  /// `http://`, `https://`
  case http
  /// Opened by FFmpeg's libraries: `rtsp://`, `rtsps://`, `rtmp://`, `rtmps://`, `srt://`, `udp://`
  case stream
  /// `exec:COMMAND`
  case command

  private static let prefixes: [(String, LiveKind)] = [
    ("/dev/video", .camera), ("/dev/v4l/", .camera), ("http:", .http), ("https:", .http), ("rtsp:", .stream),
    ("rtsps:", .stream), ("rtmp:", .stream), ("rtmps:", .stream), ("srt:", .stream), ("udp:", .stream),
    ("exec:", .command),
  ]

  /// Nil for files, patterns and standard input.
  init?(_ name: String) {
    let folded = name.lowercased()
    guard let kind = Self.prefixes.first(where: { folded.hasPrefix($0.0) })?.1 else { return nil }
    self = kind
  }
}
