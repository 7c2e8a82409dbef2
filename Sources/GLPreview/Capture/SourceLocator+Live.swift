// Which names lead to something live: a camera, a server, a command.
internal import PreviewCore

/// The kinds of live sources that are known by their names.
enum LiveKind: Sendable, Hashable {
  /// `/dev/videoN`, `/dev/v4l/by-id/...`
  case camera
  /// `http://`, `https://`
  case http
  /// What FFmpeg's libraries open: `rtsp://`, `rtsps://`, `rtmp://`, `rtmps://`, `srt://`, `udp://`
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

extension SourceLocator {
  /// The way to a live source.
  ///
  /// - Throws: `SourceError`, `.badRequest` alone: nothing is touched yet.
  func device(_ kind: LiveKind, _ options: SourceOptions) throws -> any CaptureDevice {
    switch kind {
    case .camera: return try V4L2Device(text, options)
    case .http:
      #if HTTP
        return try HTTPDevice(text, options)
      #else
        throw SourceError(
          .badRequest, path: text,
          reason: "this build has no HTTP (the package's trait HTTP is off)")
      #endif
    case .stream:
      #if FFmpeg
        return try StreamDevice(text, options)
      #else
        throw SourceError(
          .badRequest, path: text,
          reason: "this build has no streams: it was made without FFmpeg")
      #endif
    case .command: return try CommandDevice(text, options)
    }
  }
}
