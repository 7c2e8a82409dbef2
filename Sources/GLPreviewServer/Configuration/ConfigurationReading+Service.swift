// A service's own keys: where it listens, to whom it answers, its limits, where snapshots go.
internal import GLPreview
internal import PreviewCore

extension ConfigurationReading {
  /// All of it. What makes no sense keeps its default, and is in `problems`.
  mutating func service() -> ServerConfiguration {
    var service = ServerConfiguration()
    read(["bind"], to: &service.bind) { try BindAddress.parse($0) }
    resolveSocket(&service)
    service.tls = tls()
    service.access = access()
    service.limits = limits()
    read(["gpu"], to: &service.gpu, ConfigurationWords.gpu)
    read(["require-hardware"], to: &service.requiresHardware, ConfigurationWords.flag)
    service.cameras = cameras()
    service.scenes = scenes(of: service.cameras)
    service.snapshots = snapshots()
    return service
  }

  private mutating func resolveSocket(_ service: inout ServerConfiguration) {
    guard case .unix(let path) = service.bind else { return }
    do throws(WordError) {
      let path = try ConfigurationPaths.resolved(path, in: folder(of: ["bind"]))
      guard path.utf8.count <= BindAddress.longestPath else {
        throw WordError(
          "",
          "a socket's path has at most \(BindAddress.longestPath) bytes, not \(path.utf8.count)")
      }
      service.bind = .unix(path: path)
    } catch {
      refuse(["bind"], error.description)
    }
  }

  private mutating func tls() -> TLSFiles? {
    let keys = [["tls", "certificate"], ["tls", "key"]]
    guard keys.contains(where: { has($0) }) else { return nil }
    var files: [String] = []
    for key in keys {
      guard has(key) else {
        refuse(key, "is missing: TLS takes a certificate and its key")
        continue
      }
      let folder = folder(of: key)
      if let file = value(key, { try ConfigurationPaths.file($0, in: folder) }) { files.append(file) }
    }
    return files.count == 2 ? TLSFiles(certificateChain: files[0], privateKey: files[1]) : nil
  }

  // MARK: Access

  private mutating func access() -> AccessConfiguration {
    var access = AccessConfiguration()
    read(["access", "insecure"], to: &access.isInsecure, ConfigurationWords.flag)
    for name in names(below: ["access", "tokens"]) {
      let path = ["access", "tokens", name]
      guard let secret = secret(path, "token", Self.token) else { continue }
      access.tokens.append(AccessConfiguration.Token(secret: secret, role: role(path)))
    }
    for name in names(below: ["access", "users"]) {
      let path = ["access", "users", name]
      guard has(path + ["name"]) else {
        refuse(path, "has no name")
        continue
      }
      let user = value(path + ["name"], Self.userName)
      guard let password = secret(path, "password", Self.password), let user else { continue }
      access.users.append(AccessConfiguration.User(name: user, password: password, role: role(path)))
    }
    // For containers, and for who doesn't want to write a file; they may do what the service's owner may.
    if let token = value(["token"], Self.token) {
      access.tokens.append(AccessConfiguration.Token(secret: token, role: .control))
    }
    if let user = value(["user"], Self.user) { access.users.append(user) }
    access.allowedOrigins = values(["access", "origins"], Self.allowedOrigin) ?? []
    access.allowedHosts = values(["access", "hosts"], Self.hostName) ?? []
    return access
  }

  private mutating func role(_ path: [String]) -> Role {
    var role = Role.read
    read(path + ["role"], to: &role) { try ConfigurationWords.word($0) }
    return role
  }

  /// A secret that is said, or is in a file of its own.
  private mutating func secret(
    _ path: [String], _ key: String, isNeeded: Bool = true, _ check: (String) throws(WordError) -> String
  ) -> String? {
    let (said, filed) = (path + [key], path + ["\(key)-file"])
    switch (has(said), has(filed)) {
    case (true, true):
      refuse(filed, "\(key) and \(key)-file say the same; one of them is enough")
      return nil
    case (true, false): return value(said, check)
    case (false, true):
      let folder = folder(of: filed)
      return value(filed) { text throws(WordError) in
        try check(ConfigurationPaths.secret(text, in: folder))
      }
    case (false, false):
      if isNeeded { refuse(path, "has neither \(key) nor \(key)-file") }
      return nil
    }
  }

  /// It goes into a field of a request.
  private static func token(_ text: String) throws(WordError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw WordError("a token has ASCII's signs alone, and no spaces")
    }
    return text
  }

  private static func password(_ text: String) throws(WordError) -> String {
    guard !text.isEmpty else { throw WordError("is empty") }
    return text
  }

  private static func userName(_ text: String) throws(WordError) -> String {
    guard !text.isEmpty, !text.contains(":"), !text.contains(where: \.isNewline) else {
      throw WordError("'\(text)': a name is not empty and has no colon")
    }
    return text
  }

  private static func user(_ text: String) throws(WordError) -> AccessConfiguration.User {
    guard let colon = text.firstIndex(of: ":") else { throw WordError("is not NAME:PASSWORD") }
    return AccessConfiguration.User(
      name: try userName(String(text[..<colon])),
      password: try password(String(text[text.index(after: colon)...])), role: .control)
  }

  /// Scheme, host and port, as browsers send it.
  private static func allowedOrigin(_ text: String) throws(WordError) -> String {
    let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
    guard text == "*" || rest.map({ !$0.isEmpty && !$0.contains { "/ ?#@".contains($0) } }) == true else {
      throw WordError(
        "", "'\(text)' is neither * nor an origin, as https://home.example:8443, without a path")
    }
    return text.lowercased()
  }

  private static func hostName(_ text: String) throws(WordError) -> String {
    guard !text.isEmpty, !text.contains(where: { "/ ?#@".contains($0) }) else {
      throw WordError("'\(text)' is neither * nor a host's name")
    }
    return text.lowercased()
  }

  // MARK: Limits

  private mutating func limits() -> ServiceLimits {
    var limits = ServiceLimits()
    func path(_ key: String) -> [String] { ["limits", key] }
    let counts = ConfigurationWords.whole(1...1_000_000)
    read(path("connections"), to: &limits.connections, counts)
    read(path("connections-per-client"), to: &limits.connectionsPerClient, counts)
    read(
      path("requests-per-second"), to: &limits.requestsPerSecond, ConfigurationWords.number(0.01...1_000_000))
    read(path("request-bytes"), to: &limits.requestBytes, ConfigurationWords.bytes(1024...64 << 20))
    read(path("pixels"), to: &limits.pixels, ConfigurationWords.whole(1...1_000_000_000))
    read(path("ad-hoc-views"), to: &limits.adHocViews, ConfigurationWords.whole(0...10_000))
    read(path("memory"), to: &limits.memory, ConfigurationWords.bytes(16 << 20...1 << 50))
    read(path("stalled-client"), to: &limits.stalledClient, ConfigurationWords.time)
    read(path("idle-connection"), to: &limits.idleConnection, ConfigurationWords.time)
    return limits
  }

  // MARK: Snapshots

  private mutating func snapshots() -> SnapshotDestinations {
    var snapshots = SnapshotDestinations()
    snapshots.folder = snapshotFolder(["snapshots", "folder"])
    snapshots.webhook = webhook(["snapshots", "webhook"])
    return snapshots
  }

  private mutating func snapshotFolder(_ path: [String]) -> SnapshotFolderConfiguration? {
    guard has(path + ["path"]) else {
      if has(path) { refuse(path, "has no path") }
      return nil
    }
    let base = folder(of: path + ["path"])
    guard let place = value(path + ["path"], { try ConfigurationPaths.resolved($0, in: base) }) else {
      return nil
    }
    var folder = SnapshotFolderConfiguration(path: place)
    read(path + ["max-age"], to: &folder.maximumAge, ConfigurationWords.time)
    read(path + ["max-count"], to: &folder.maximumCount, ConfigurationWords.whole(1...1_000_000_000))
    read(path + ["max-bytes"], to: &folder.maximumBytes, ConfigurationWords.bytes(1...1 << 50))
    return folder
  }

  private mutating func webhook(_ path: [String]) -> WebhookConfiguration? {
    guard has(path + ["url"]) else {
      if has(path) { refuse(path, "has no url") }
      return nil
    }
    guard let url = value(path + ["url"], Self.webhookURL) else { return nil }
    var webhook = WebhookConfiguration(url: url)
    webhook.secret = secret(path, "secret", isNeeded: false, Self.password)
    read(path + ["max-event-bytes"], to: &webhook.maximumEventBytes, ConfigurationWords.bytes(1000...1 << 30))
    read(path + ["attempts"], to: &webhook.attempts, ConfigurationWords.whole(1...100))
    read(path + ["capacity"], to: &webhook.capacity, ConfigurationWords.whole(1...10_000))
    return webhook
  }

  private static func webhookURL(_ text: String) throws(WordError) -> String {
    let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
    guard let rest, let first = rest.first, !"/?#:".contains(first), !text.contains(where: \.isWhitespace)
    else {
      throw WordError("is not an address that begins with http:// or https://")
    }
    return text
  }
}
