// All kinds of source. Their folders say the rest.

enum SourceKinds {
  /// In the order in which they are asked for a name; the last one takes every name.
  static let all: [SourceKind] = [
    .v4l2Camera, .httpServer, .networkStream(through: StreamTunnel.verified), .udpStream, .childCommand,
    .testPattern, .fileURL, .standardInput, .path,
  ]

  static func kind(of text: String) -> SourceKind { all.first { $0.recognizes(text) } ?? .path }
}
