// All kinds of source. Each is implemented in its own target; the package's traits choose which of them are
// built.

enum SourceKinds {
  /// All kinds, in the order in which they are tried for a name; the last one accepts every name.
  static let all: [SourceKind] =
    [.v4l2Camera] + servers + streams
    + [.childCommand, .testPattern, .fileURL, .standardInput(openVideo: openVideo), path]

  static func kind(of text: String) -> SourceKind { all.first { $0.recognizes(text) } ?? path }

  private static let path = SourceKind.path(openVideo: openVideo)

  #if HTTP
    private static let servers: [SourceKind] = [.httpServer(decoding: openDecoder)]
    private static let openTunnel: StreamTunnel.Open? = RTSPTunnel.open
  #else
    private static let servers: [SourceKind] = [
      .missing(
        ["http", "https"], certified: "https", "this build has no HTTP (the package's trait HTTP is off)")
    ]
    private static let openTunnel: StreamTunnel.Open? = nil
  #endif

  #if FFmpeg
    private static let streams: [SourceKind] = [.networkStream(through: openTunnel), .udpStream]
    private static let openDecoder: OriginalVideo.OpenDecoder? = OriginalDecoder.open
    private static let openVideo: SourceOpener.OpenVideo? = VideoFileSource.open
  #else
    private static let noStreams = "this build can't read streams: it was built without FFmpeg"
    private static let streams: [SourceKind] = [
      .missing(["rtsp", "rtsps", "rtmp", "rtmps", "srt"], certified: "rtsps", noStreams),
      .missing(["udp"], origin: .port, noStreams),
    ]
    private static let openDecoder: OriginalVideo.OpenDecoder? = nil
    private static let openVideo: SourceOpener.OpenVideo? = nil
  #endif
}

#if !HTTP
  extension CertificateTrust {
    /// Does nothing: without TLS, no source with a certificate opens.
    package func checkFile() throws(ParameterError) {}
  }
#endif
