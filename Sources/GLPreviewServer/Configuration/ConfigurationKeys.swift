// The configuration keys in the order of docs/configuration.md: those of the service, except for cameras and scenes.
internal import GLPreview
internal import PreviewCore

/// All configuration keys, for reading files, variables and options. `make api` writes their documentation.
enum ConfigurationKeys {
  static let service: [ConfigurationKey<ServerConfiguration>] = [
    .init(
      "bind", .address, \.bind, "`127.0.0.1:8080`", "where the service listens; port 0 takes a free one"),
    .init("tls", tls, \.tls, new: TLSFiles(certificateChain: "", privateKey: "")) { reading, place in
      let keys = ["certificate", "key"]
      let missing = keys.filter { !reading.isSaid(place[$0]) }
      guard missing.count < keys.count else { return false }
      for key in missing {
        reading.refuse(place[key], "is missing: TLS takes a certificate and its key")
      }
      return missing.isEmpty
    },
    .init("access", access, \.access),
    // For containers, and for setups without a file. These credentials have the role `control`.
    .init(outsideFiles: "token", .token) { $0.access.tokens.append(.init(secret: $1, role: .control)) },
    .init(outsideFiles: "user", user) { $0.access.users.append($1) },
    .init("limits", limits, \.limits),
    .init("gpu", .gpu, \.gpu, "`auto`", "what it draws on"),
    .init("require-hardware", .flag, \.requiresHardware, "`false`", "refuse to draw in software"),
    .init("cameras", .named, camera, \.cameras, new: { name, _ in .init(name: name, source: "") }) {
      $0.needs("source", at: $1)
      return $2.asking
    },
    .init(
      "scenes", .named, scene, \.scenes,
      new: { name, service in
        var scene = Scene(size: Size(width: 1280, height: 720))
        scene.tiles = service.cameras.map { Tile($0.name) }
        return SceneConfiguration(name: name, scene: scene)
      }, finish: { $2 }),
    .init("snapshots", snapshots, \.snapshots),
  ]

  private static let tls: [ConfigurationKey<TLSFiles>] = [
    .init("certificate", .file, \.certificateChain, "", "the certificate for HTTPS, PEM"),
    .init("key", .file, \.privateKey, "", "its private key, PEM"),
  ]

  // MARK: Access

  /// A token or a user whose keys are being read.
  private struct Credential: Sendable {
    var name: String?
    var secret: String?
    var role = Role.read
  }

  private static let access: [ConfigurationKey<AccessConfiguration>] = [
    .init("insecure", .flag, \.isInsecure, "`false`", "answer everybody, wherever it listens"),
    .init("tokens", .listed, token, \.tokens, new: { _, _ in Credential() }) { reading, place, said in
      needsSecret("token", &reading, place)
      return said.secret.map { .init(secret: $0, role: said.role) }
    },
    .init("users", .listed, person, \.users, new: { _, _ in Credential() }) { reading, place, said in
      reading.needs("name", at: place)
      needsSecret("password", &reading, place)
      guard let name = said.name, let password = said.secret else { return nil }
      return .init(name: name, password: password, role: said.role)
    },
    .init(
      "origins", listOf: .origin, \.allowedOrigins, "none",
      "pages whose scripts may read answers; those that are named may also send changes"),
    .init(
      "hosts", listOf: .hostName, \.allowedHosts, "none",
      "names by which the service is called beside addresses, `localhost` and its own; `*` is all"),
  ]

  private static let token: [ConfigurationKey<Credential>] =
    ConfigurationKey.secret("token", .token, \.secret, "", "a secret that opens the door") + [role]

  private static let person: [ConfigurationKey<Credential>] =
    [.init("name", .userName, \.name, "", "the name for basic authentication and the dashboard's login")]
    + ConfigurationKey.secret("password", .password, \.secret, "", "the password, as it is typed") + [role]

  private static let role = ConfigurationKey<Credential>(
    "role", .choice, \.role, "`read`", "`read` looks, `control` changes everything too")

  private static let user = ConfigurationWord<AccessConfiguration.User>("`NAME:PASSWORD`", isSecret: true) {
    guard let colon = $0.firstIndex(of: ":") else { throw WordError("is not NAME:PASSWORD") }
    let name = try ConfigurationWord.userName.read(String($0[..<colon]), "")
    let password = try ConfigurationWord.password.read(String($0[$0.index(after: colon)...]), "")
    return AccessConfiguration.User(name: name, password: password, role: .control)
  }

  private static func needsSecret(
    _ key: String, _ reading: inout ConfigurationReader, _ place: ConfigurationPlace
  ) {
    guard !reading.isSaid(place[key]), !reading.isSaid(place["\(key)-file"]) else { return }
    reading.refuse(place, "has neither \(key) nor \(key)-file")
  }

  // MARK: Limits

  private static let limits: [ConfigurationKey<ServiceLimits>] = [
    .init("connections", .whole(1...1_000_000), \.connections, "`2000`", "connections at a time; more wait"),
    .init(
      "connections-per-client", .whole(1...1_000_000), \.connectionsPerClient, "`1000`",
      "connections of one address; more are closed"),
    .init(
      "requests-per-second", .number(0.01...1_000_000), \.requestsPerSecond, "`200`",
      "requests of one address in the long run; twice as many may come at once"),
    .init(
      "request-bytes", .bytes(1024...64 << 20), \.requestBytes, "`64KiB`", "the largest body of a request"),
    .init(
      "pixels", .whole(1...1_000_000_000), \.pixels, "`8294400`",
      "the most pixels of a picture that somebody asks for"),
    .init(
      "ad-hoc-views", .whole(0...10_000), \.adHocViews, "`16`",
      """
      views asked for in URLs that are drawn at a time, streams and snapshots each; one client has at most half of them, \
      or a quarter where they are more than 32
      """),
    .init(
      "memory", .bytes(16 << 20...1 << 50), \.memory, "a quarter of the machine's, or of the control group's",
      """
      what pictures may take in all: decoded, drawn, encoded, kept, or held for clients that have not read them; 503 \
      beyond that
      """),
    .init(
      "stalled-client", .time, \.stalledClient, "`30s`",
      "a client that takes nothing of a stream, or of another answer, for so long is cut off"),
    .init("idle-connection", .time, \.idleConnection, "`75s`", "how long a connection may be idle"),
  ]

  // MARK: Snapshots

  private static let snapshots: [ConfigurationKey<SnapshotDestinations>] = [
    .init("folder", folder, \.folder, new: .init(path: "")) { isThere("path", &$0, $1) },
    .init("webhook", webhook, \.webhook, new: .init(url: "")) { isThere("url", &$0, $1) },
  ]

  private static let folder: [ConfigurationKey<SnapshotFolderConfiguration>] = [
    .init("path", .path, \.path, "none", "a folder that keeps snapshots; made with mode 0750, files 0640"),
    .init("max-age", .time, \.maximumAge, "no limit", "older snapshots are removed"),
    .init(
      "max-count", .whole(1...1_000_000_000), \.maximumCount, "no limit",
      "snapshots that are kept; the oldest go first"),
    .init(
      "max-bytes", .bytes(1...1 << 50), \.maximumBytes, "no limit", "bytes that are kept; the oldest go first"
    ),
  ]

  private static let webhook: [ConfigurationKey<WebhookConfiguration>] =
    [.init("url", .webAddress, \.url, "none", "a server that is told of each snapshot")]
    + ConfigurationKey.secret(
      "secret", .password, \.secret, "signs nothing", "the key of the HMAC-SHA256 in `X-GLPreview-Signature`")
    + [
      .init(
        "max-event-bytes", .bytes(1000...1 << 30), \.maximumEventBytes, "`100kB`",
        "the largest event, picture included"),
      .init("attempts", .whole(1...100), \.attempts, "`5`", "how often an event is tried"),
      .init(
        "capacity", .whole(1...10_000), \.capacity, "`64`",
        "events that wait at most; the oldest are dropped"),
    ]

  /// Whether a part is configured. Then `key` is required, and reported if it is missing.
  private static func isThere(
    _ key: String, _ reading: inout ConfigurationReader, _ place: ConfigurationPlace
  ) -> Bool { (place.hasKeys || reading.isSaid(place[key])) && reading.needs(key, at: place) }
}
