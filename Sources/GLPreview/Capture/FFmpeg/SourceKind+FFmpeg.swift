// Streams, which FFmpeg's libraries open, as kinds of source. Without the trait, they are refused by name.

extension SourceKind {
  /// `rtsp://`, `rtsps://`, `rtmp://`, `rtmps://`, `srt://`. Servers whose certificate is verified are reached through `tunnel`;
  /// without one, they are refused.
  static func networkStream(through tunnel: StreamTunnel.Open?) -> SourceKind {
    SourceKind(
      schemes: ["rtsp", "rtsps", "rtmp", "rtmps", "srt"], certifiedScheme: "rtsps", origin: .network,
      refusal: { text, options in
        let isUDP =
          text.hasSuffix("#transport=udp")
          || options.streamTransport == .udp && !text.contains("#transport=")
        guard isUDP, let certificate = options.certificate, certificate != .any else { return nil }
        let reason = "a certificate is verified over TCP alone, and the transport is udp (certificate: any)"
        return Refusal(option: "certificate", reason: reason)
      },
      warning: { text, options in
        guard options.certificate == nil, scheme(of: text) == "rtsps" else { return nil }
        return "the camera's certificate is not verified, which will change in version 0.3: set certificate "
          + "to system, a fingerprint or a file to verify it now, or to any"
      }
    ) { try stream($0, $1, tunnel) }
  }

  /// `udp://`
  static let udpStream = SourceKind(schemes: ["udp"], origin: .port) { try stream($0, $1, nil) }

  private static func stream(_ text: String, _ options: SourceOptions, _ tunnel: StreamTunnel.Open?) throws
    -> Opened
  {
    #if FFmpeg
      .device(try StreamDevice(text, options, openTunnel: tunnel))
    #else
      let reason = "this build has no streams: it was made without FFmpeg"
      throw SourceError(.badRequest, path: text, reason: reason)
    #endif
  }
}
