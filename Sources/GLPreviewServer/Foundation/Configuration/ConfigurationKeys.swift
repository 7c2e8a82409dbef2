// The keys of the core in the order of docs/configuration.md, except those of cameras and scenes.

/// The keys of the core.
package enum ConfigurationKeys {
  /// The keys of the listen address, of access and of limits.
  package static let access: [ConfigurationKey<ServerConfiguration>] = [
    .init(
      "bind", .address, \.bind, "`127.0.0.1:8080`", "the address to listen on; port 0 selects a free port"
    ).atStart,
    .init(
      "public-url", publicURL, \.access.publicURL, "none",
      "the address at which people reach the service, for links; its host name is accepted"),
    .init("tls", tls, \.tls, new: TLSFiles(certificateChain: "", privateKey: "")) { reading, place in
      let keys = ["certificate", "key"]
      let missing = keys.filter { !reading.isSet(place[$0]) }
      guard place.isNamed || missing.count < keys.count else { return false }
      for key in missing {
        reading.refuse(place[key], "is missing: TLS needs a certificate and its key")
      }
      return missing.isEmpty
    }.atStart,
    .init("access", accessKeys, \.access),
    // For containers, and for setups without a file. These credentials have the role `control`.
    .init(outsideFiles: "token", .token) { $0.access.tokens.append(.init(secret: $1, role: .control)) },
    .init(outsideFiles: "user", user) { $0.access.users.append($1) },
    .init("limits", limits, \.limits).atStart,
  ]

  package static let nodes: [ConfigurationKey<ServerConfiguration>] = [
    .init("cluster", cluster, \.cluster, needsKeys: true)
  ]

  /// The keys of cameras, scenes and their snapshots. `features` are further keys of a camera, `scenes` of a scene.
  package static func pictures(
    _ features: [ConfigurationKey<CameraConfiguration>], _ scenes: [ConfigurationKey<SceneConfiguration>] = []
  ) -> [ConfigurationKey<ServerConfiguration>] {
    [
      .init("gpu", .gpu, \.gpu, "`auto`", "what renders; `auto` is hardware, otherwise the CPU").atStart,
      .init(
        "jpeg", .choice, \.jpeg, "`auto`",
        "what codes JPEGs; `auto` is the CPU, unless a trial shows that a GPU takes half the time"
      ).atStart,
      .init("require-hardware", .flag, \.requiresHardware, "`false`", "refuse to render without a GPU")
        .atStart,
      .init("cameras", .named, camera(features), \.cameras, new: { name, _ in .init(name: name, source: "") })
      {
        $0.needs("source", at: $1)
        $2 = $2.asking.decoding
      },
      .init(
        "scenes", .named, scene + scenes, \.scenes,
        new: { name, service in
          var scene = Scene(size: Size(width: 1280, height: 720))
          scene.tiles = service.cameras.map { Tile($0.name) }
          return SceneConfiguration(name: name, scene: scene)
        }),
      .init("snapshots", snapshots, \.snapshots).atStart,
    ]
  }

  private static let tls: [ConfigurationKey<TLSFiles>] = [
    .init("certificate", .file, \.certificateChain, "", "the certificate chain for HTTPS, PEM"),
    .init("key", .file, \.privateKey, "", "the certificate's private key, PEM"),
  ]

  // MARK: Access

  private static let accessKeys: [ConfigurationKey<AccessConfiguration>] = [
    .init("insecure", .flag, \.isInsecure, "`false`", "allow access without authentication on any address"),
    .init("tokens", .listed, token, \.tokens, new: { _, _ in .init(secret: "", role: .read) }) {
      reading, place, _ in
      needsSecret("token", &reading, place)
    },
    .init("users", .listed, person, \.users, new: { _, _ in .init(name: "", password: "", role: .read) }) {
      reading, place, _ in
      reading.needs("name", at: place)
      needsSecret("password", &reading, place)
    },
    .init(
      "origins", listOf: .origin, \.allowedOrigins, "none",
      "web origins whose scripts may read answers; listed origins may also make changes"),
    .init(
      "hosts", listOf: .hostName, \.allowedHosts, "none",
      "additional host names of the service, besides IP addresses, `localhost` and its own; `*` allows all"),
    .init("link-keys", .named, linkKey, \.linkKeys, new: { name, _ in LinkKey(name: name) }) {
      reading, place, key in
      needsSecret("secret", &reading, place)
      if !LinkKey.isName(key.name) {
        reading.refuse(place, "a key's name must be 1 to 32 letters, digits, - and _")
      }
      // None would mean all.
      if key.cameras.isEmpty, reading.isSet(place["cameras"]) {
        reading.refuse(place["cameras"], "names no camera: leave it out for all")
      }
    },
    .init(
      "event-links", .time, \.eventLinks, "no links",
      "how long the links to pictures in messages of webhooks and MQTT are valid; needs `public-url` and a key"
    ),
  ]

  private static let publicURL = ConfigurationFormat<PublicURL>("`https://cams.example.org`") { text in
    guard let url = PublicURL(text) else {
      throw ParameterError("'\(text)' is not a URL like https://cams.example.org, without a user or a query")
    }
    return url
  }

  private typealias LinkKeyKey = ConfigurationKey<LinkKey>

  private static let linkKey: [LinkKeyKey] =
    LinkKeyKey.secret("secret", linkSecret, "", "the secret of signed links, random") { $0.secret = $1 }
    + [
      .init(
        "cameras", listOf: .userName, \.cameras, "all",
        "the cameras and scenes that links by this key may show"),
      .init("forever", .flag, \.allowsForever, "`false`", "allow links without an end"),
    ]

  static let linkSecret = ConfigurationFormat<String>(
    "at least \(LinkKey.shortest) characters", isSecret: true
  ) { text in
    guard text.utf8.count >= LinkKey.shortest else {
      throw ParameterError("is shorter than \(LinkKey.shortest) characters")
    }
    guard !text.contains(where: \.isNewline) else { throw ParameterError("has several lines") }
    return text
  }

  private typealias TokenKey = ConfigurationKey<AccessConfiguration.Token>
  private typealias UserKey = ConfigurationKey<AccessConfiguration.User>

  private static let token: [TokenKey] =
    TokenKey.secret("token", .token, "", "a secret that grants access") { $0.secret = $1 }
    + [.init("role", .choice, \.role, "`read`", roles)]

  private static let person: [UserKey] =
    [.init("name", .userName, \.name, "", "the name for basic authentication and the dashboard's login")]
    + UserKey.secret("password", .password, "", "the password in plain text") { $0.password = $1 }
    + [.init("role", .choice, \.role, "`read`", roles)]

  private static let roles = "`read` may view everything, `control` may also change everything"

  private static let user = ConfigurationFormat<AccessConfiguration.User>("`NAME:PASSWORD`", isSecret: true) {
    guard let colon = $0.firstIndex(of: ":") else { throw ParameterError("is not NAME:PASSWORD") }
    let name = try ConfigurationFormat.userName.read(String($0[..<colon]), "")
    let password = try ConfigurationFormat.password.read(String($0[$0.index(after: colon)...]), "")
    return AccessConfiguration.User(name: name, password: password, role: .control)
  }

  private static func needsSecret(
    _ key: String, _ reading: inout ConfigurationReader, _ place: ConfigurationPlace
  ) {
    guard !reading.isSet(place[key]), !reading.isSet(place["\(key)-file"]) else { return }
    reading.refuse(place, "has neither \(key) nor \(key)-file")
  }

  // MARK: Limits

  private static let limits: [ConfigurationKey<ServiceLimits>] = [
    .init(
      "connections", .whole(1...1_000_000), \.connections, "`2000`",
      "the maximum number of connections; further ones wait"),
    .init(
      "connections-per-client", .whole(1...1_000_000), \.connectionsPerClient, "`1000`",
      "the maximum number of connections from one address; further ones are closed"),
    .init(
      "requests-per-second", .number(0.01...1_000_000), \.requestsPerSecond, "`200`",
      "the average number of requests per second from one address, by HTTP and RTSP; bursts may have twice as many; `/healthz` and `/readyz` are counted separately"
    ),
    .init(
      "request-bytes", .bytes(1024...64 << 20), \.requestBytes, "`64KiB`",
      "the maximum size of a request body"),
    .init(
      "pixels", .whole(1...1_000_000_000), \.pixels, "`8294400`",
      "the maximum number of pixels of a picture that a client requests"),
    .init(
      "ad-hoc-views", .whole(0...10_000), \.adHocViews, "`16`",
      """
      the maximum number of views by URL that are rendered at a time, for streams and for snapshots each; one client gets at most a \
      quarter of them, but 8 of up to 32, and half of fewer than 16
      """),
    .init(
      "webrtc-sessions", .whole(0...100_000), \.webRTCSessions, "`100`",
      """
      the maximum number of WebRTC sessions; one client gets at most a quarter of them, but 8 of up to 32, and half of fewer \
      than 16
      """),
    .init(
      "gpu", .whole(0...100), \.gpu, "`90`",
      """
      the percentage of the GPU's time, measured by its own clock, from which on further views by URL, clips of them too, get 429; \
      0 for no limit; without effect on software, and on a GPU without timer queries
      """),
    .init(
      "memory", .bytes(16 << 20...1 << 50), \.memory, "a quarter of the machine's, or of the control group's",
      """
      the memory for all pictures: decoded, rendered, encoded, cached, or waiting for clients; requests beyond it get 503
      """),
    .init(
      "stalled-client", .time, \.stalledClient, "`30s`",
      "the time after which a client that reads nothing of its answer is disconnected"),
    .init(
      "idle-connection", .time, \.idleConnection, "`75s`", "the time after which an idle connection is closed"
    ),
  ]

  // MARK: Snapshots

  private static let snapshots: [ConfigurationKey<SnapshotDestinations>] = [
    .init("folder", folder(of: "snapshots"), \.folder, new: .init(path: "")) { isThere("path", &$0, $1) },
    .init("webhook", webhook, \.webhook, new: .init(url: "")) { isThere("url", &$0, $1) },
    .init(
      "stores", .named, store, \.stores, new: { name, _ in StoreConfiguration(name: name) }, finish: finish,
      comparing: \.name),
  ]

  package static func folder(of files: String) -> [ConfigurationKey<FolderConfiguration>] {
    [
      .init("path", .path, \.path, "none", "a folder for \(files); created with mode 0750, files 0640"),
      .init("max-age", .time, \.maximumAge, "no limit", "the age at which \(files) are removed"),
      .init(
        "max-count", .whole(1...1_000_000_000), \.maximumCount, "no limit",
        "the maximum number of \(files); the oldest are removed first"),
      .init(
        "max-bytes", .bytes(1...1 << 50), \.maximumBytes, "no limit",
        "the maximum total size; the oldest are removed first"
      ),
    ]
  }

  private static let webhook: [ConfigurationKey<WebhookConfiguration>] =
    [.init("url", .webAddress, \.url, "none", "the URL to which each snapshot is sent")]
    + ConfigurationKey<WebhookConfiguration>.secret(
      "secret", .password, \.secret, "no signature",
      "the key of the HMAC-SHA256 in `X-GLPreview-Signature`")
    + [
      .init(
        "max-event-bytes", .bytes(1000...1 << 30), \.maximumEventBytes, "`100kB`",
        "the maximum size of an event, picture included"),
      .init(
        "attempts", .whole(1...100), \.attempts, "`5`", "the number of attempts before an event is dropped"),
      .init(
        "capacity", .whole(1...10_000), \.capacity, "`64`",
        "the maximum number of waiting events; the oldest are dropped"),
    ]

  /// Whether a part is configured, even without a value. In that case `key` is required, and reported if it
  /// is missing.
  package static func isThere(
    _ key: String, _ reading: inout ConfigurationReader, _ place: ConfigurationPlace
  ) -> Bool { (place.isNamed || reading.isSet(place[key])) && reading.needs(key, at: place) }
}
