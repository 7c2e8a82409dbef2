// The other nodes whose cameras are served here too.
internal import GLPreview
internal import PreviewCore

package struct ClusterConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// What others call this node; nil for the name of the machine.
  package var name: String?
  /// The addresses of the other nodes, without a slash at the end.
  package var peers: [String] = []
  /// What they are sent as `Authorization: Bearer`.
  package var token: String?
  /// The path of further certificates that TLS trusts, PEM.
  package var certificates: String?

  /// Without the token.
  package var description: String { "\(name ?? "unnamed") with \(peers.count) peers" }

  static let mostPeers = 64
}

extension ConfigurationKeys {
  static let cluster: [ConfigurationKey<ClusterConfiguration>] =
    [
      .init("name", .nodeName, \.name, "the machine's name", "what other nodes call this one"),
      .init(
        "peers", listOf: .peer, \.peers, "none",
        "other services whose cameras are served here too, at most 64 ([cluster.md](cluster.md))"),
    ]
    + ConfigurationKey<ClusterConfiguration>.secret(
      "token", .token, "none",
      "a token that the peers accept; its role there limits what can be changed from here"
    ) { $0.token = $1 }
    + [
      .init(
        "ca-file", .file, \.certificates, "the system's",
        "certificates that peers at `https://` are checked against, besides the system's, PEM")
    ]
}

extension ConfigurationWord<String> {
  fileprivate static var nodeName: Self {
    Self("a name") { text in
      try ViewConfiguration.check(name: text)
      return text
    }
  }

  /// An address without credentials, query and fragment. Slashes at its end are removed, so that equal ones are equal.
  fileprivate static var peer: Self {
    Self("`http://HOST:PORT`, `https://HOST`", isSecret: true) { text, folder in
      var address = try ConfigurationWord.webAddress.read(text, folder)
      guard !address.contains(where: { "@?#".contains($0) }) else {
        throw WordError("is an address without credentials, '?' and '#', as https://shed.local:8080")
      }
      while address.hasSuffix("/") { address.removeLast() }
      return address
    }
  }
}
