// The other nodes whose cameras this node also serves.

package struct ClusterConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// The name of this node in the cluster; nil for the machine's host name.
  package var name: String?
  /// The addresses of the other nodes, without a slash at the end.
  package var peers: [String] = []
  /// The token for requests to peers, sent as `Authorization: Bearer`.
  package var token: String?
  /// The path of additional certificates that TLS trusts, PEM.
  package var certificates: String?

  /// A description without the token.
  package var description: String { "\(name ?? "unnamed") with \(peers.count) peers" }

  /// The address at which other nodes reach this one, without a trailing slash; nil for that of `bind`.
  package var url: String?
  /// The NATS servers by which movable cameras are shared; nil if cameras do not move.
  package var broker: NATSClusterConfiguration?
  /// The most movable cameras that this node takes.
  package var slots = 16

  /// Whether there are other nodes.
  var hasOthers: Bool { !peers.isEmpty || broker != nil }

  static let mostPeers = 64
  package static let mostSlots = 1000
}

extension ConfigurationKeys {
  static let cluster: [ConfigurationKey<ClusterConfiguration>] =
    [
      .init("name", .nodeName, \.name, "the machine's name", "this node's name in the cluster"),
      .init(
        "peers", listOf: .peer, \.peers, "none",
        "other services whose cameras this node serves too, at most 64 ([cluster.md](cluster.md))"),
    ]
    + [
      .init(
        "slots", .whole(0...ClusterConfiguration.mostSlots), \.slots, "`16`",
        "the maximum number of moving cameras on this node, with `cluster.nats`"),
      .init(
        "url", .peer, \.url, "that of `bind`",
        "the URL at which other nodes reach this node, with `cluster.nats`"
      ).atStart,
      .init("nats", broker, \.broker, new: NATSClusterConfiguration()) { isThere("servers", &$0, $1) }
        .atStart,
    ]
    + ConfigurationKey<ClusterConfiguration>.secret(
      "token", .token, \.token, "none",
      "a token that the peers accept; its role at a peer limits what can be changed there")
    + [
      .init(
        "ca-file", .file, \.certificates, "the system's",
        "additional trusted certificates for `https://` peers, PEM"
      ).atStart
    ]
}

extension ServerConfiguration {
  var clusterProblems: [ConfigurationProblem] {
    let (peers, path) = (cluster.peers, ["cluster", "peers"])
    guard peers.count <= ClusterConfiguration.mostPeers else {
      return [
        ConfigurationProblem(
          path: path, "\(peers.count) peers; at most \(ClusterConfiguration.mostPeers) are allowed")
      ]
    }
    guard Set(peers).count == peers.count else {
      return [ConfigurationProblem(path: path, "lists a peer twice")]
    }
    return homeProblems + brokerProblems
  }

  private var homeProblems: [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    for camera in cameras where camera.home == .any && camera.isDevice {
      problems.append(
        ConfigurationProblem(
          path: ["cameras", camera.name, "node"], "a local camera can't move between nodes: set its node"))
    }
    guard cluster.broker != nil else { return problems }
    let movable = movableCameras
    for name in movable.sorted() where name.contains("..") || name.hasSuffix(".") {
      problems.append(
        ConfigurationProblem(
          path: ["cameras", name], "the name of a camera that moves must not end in '.' or contain '..'")
      )
    }
    for scene in scenes {
      for tile in scene.scene.sourceNames where movable.contains(tile) {
        problems.append(
          ConfigurationProblem(
            path: ["scenes", scene.name, "tiles"],
            "camera '\(tile)' moves between nodes, but a scene needs cameras of its own node: set its node"))
      }
    }
    return problems
  }

  private var brokerProblems: [ConfigurationProblem] {
    guard let broker = cluster.broker else { return [] }
    var problems = broker.problems.map { ConfigurationProblem(path: ["cluster", "nats"], $0) }
    if cluster.url == nil, bind.url(isSecure: tls != nil) == nil {
      problems.append(
        ConfigurationProblem(
          path: ["cluster", "url"],
          "other nodes can't reach \(bind): set the URL at which they reach this node, such as http://10.0.0.7:8080"
        ))
    }
    if let name = cluster.name, name.contains("..") || name.hasSuffix(".") {
      problems.append(
        ConfigurationProblem(
          path: ["cluster", "name"], "must not end in '.' or contain '..' with cluster.nats"))
    }
    return problems
  }
}

extension ConfigurationFormat<CameraNode> {
  static var home: Self {
    Self("`any` or a node's name") { text in
      if text == "any" { return .any }
      try ViewConfiguration.check(name: text)
      return .node(text)
    }
  }
}

extension ConfigurationFormat<String> {
  fileprivate static var nodeName: Self {
    Self("a name") { text in
      try ViewConfiguration.check(name: text)
      return text
    }
  }

  /// An address without credentials, query or fragment. Trailing slashes are removed, so that equal addresses
  /// compare equal.
  fileprivate static var peer: Self {
    Self("`http://HOST:PORT`, `https://HOST`", isSecret: true) { text, folder in
      var address = try ConfigurationFormat.webAddress.read(text, folder)
      guard !address.contains(where: { "@?#".contains($0) }) else {
        throw ParameterError(
          "must be a URL without credentials, '?' and '#', such as https://shed.local:8080")
      }
      while address.hasSuffix("/") { address.removeLast() }
      return address
    }
  }
}
