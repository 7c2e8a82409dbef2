// Streams and videos, which FFmpeg's libraries open, as source kinds.

extension SourceKind {
  /// `rtsp://`, `rtsps://`, `rtmp://`, `rtmps://`, `srt://`. Connections to servers whose certificate is
  /// verified go through `tunnel`; without one, such sources are refused.
  package static func networkStream(through tunnel: StreamTunnel.Open?) -> SourceKind {
    SourceKind(
      schemes: ["rtsp", "rtsps", "rtmp", "rtmps", "srt"], certifiedScheme: "rtsps", origin: .network,
      refusal: { text, options in
        let isUDP =
          text.hasSuffix("#transport=udp")
          || options.streamTransport == .udp && !text.contains("#transport=")
        guard isUDP, let certificate = options.certificate, certificate != .any else { return nil }
        let reason =
          "certificates are verified only over TCP, and the transport is udp: use tcp, or certificate: any"
        return Refusal(option: "certificate", reason: reason)
      },
      warning: { text, options in
        guard options.certificate == nil, scheme(of: text) == "rtsps" else { return nil }
        return "the camera's certificate is not verified, which will change in version 0.3: set certificate "
          + "to system, a fingerprint or a file to verify it now, or to any"
      }
    ) { .device(try StreamDevice($0, $1, openTunnel: tunnel)) }
  }

  /// `udp://`
  package static let udpStream = SourceKind(schemes: ["udp"], origin: .port) {
    .device(try StreamDevice($0, $1))
  }
}

extension VideoFileSource {
  /// Opens a file whose first bytes match no other source.
  @Sendable package static func open(
    _ path: String, _ options: SourceOptions, name: String
  ) throws(SourceError) -> any FrameSource {
    do {
      return try VideoFileSource(path, options, name: name)
    } catch {
      let raw = SourceOpener.rawAdvice
      let reason =
        switch error.kind {
        case .unknownFormat: "is not a JPEG, PNG, Y4M or video; \(raw)"
        case .noLibraries: "is not a JPEG, PNG or Y4M; \(raw); and for videos \(error.description)"
        case .ended: "is cut short"
        default: error.description
        }
      throw SourceError(.badData, path: name, reason: reason)
    }
  }
}

extension OriginalDecoder {
  /// Opens a decoder for a video's stored pictures.
  @Sendable package static func open(
    _ video: OriginalVideo, maximumPixels: Int, memory: FramePool
  ) -> @Sendable (Int) throws -> Frame {
    OriginalDecoder(video, maximumPixels: maximumPixels, memory: memory).frame
  }
}
