// The NATS servers through which nodes share cameras, and this node's credentials for them.
package import NATS

package struct NATSClusterConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// The servers of one NATS cluster: `nats://HOST:PORT`, `tls://HOST:PORT`.
  package var servers: [String] = []
  package var token: String?
  package var user: String?
  package var password: String?
  /// The seed of an nkey.
  package var seed: String?
  /// The path of the CA certificates, PEM; nil for the system's.
  package var authorities: String?
  /// The paths of this node's certificate and its key, PEM.
  package var certificate: String?
  package var key: String?
  /// The bucket's name, and the first token of all subjects.
  package var prefix = "glp"
  /// The number of servers that keep the leases.
  package var replicas = 1

  /// A description without secrets.
  package var description: String { "\(prefix) at \(servers.joined(separator: ", "))" }

  /// - Throws: `NATSError` for an invalid seed or address.
  package func natsConfiguration(name: String, _ timeouts: ServiceTimeouts) throws(NATSError)
    -> NATSConfiguration
  {
    var addresses: [NATSServerAddress] = []
    for server in servers { addresses.append(try NATSServerAddress(server)) }
    var configuration = NATSConfiguration(servers: addresses)
    configuration.name = "glpreview \(name)"
    configuration.firstConnection = .retried
    configuration.connectTimeout = timeouts.brokerConnects
    (configuration.pingInterval, configuration.missedPongs) = (timeouts.brokerSilence / 2, 2)
    configuration.backoff.longest = .seconds(2)
    // Retries without a limit: the credentials may be corrected on the servers meanwhile.
    configuration.authenticationAttempts = .max
    if let token { configuration.authentication = .token(token) }
    if let user { configuration.authentication = .user(user, password: password ?? "") }
    if let seed { configuration.authentication = .nkey(try NKey(seed: seed)) }
    if authorities != nil || certificate != nil {
      configuration.tls = .init(authorities: authorities, certificate: certificate, key: key)
    }
    return configuration
  }

  /// The contradictions between the settings.
  var problems: [String] {
    var problems: [String] = []
    let credentials = [token, user, seed].count { $0 != nil }
    if credentials > 1 { problems.append("has several of token, user and nkey: set only one of them") }
    if (user == nil) != (password == nil) { problems.append("user and password must be set together") }
    if (certificate == nil) != (key == nil) { problems.append("certificate and key must be set together") }
    if Set(servers).count != servers.count { problems.append("lists a server twice") }
    if ![1, 3, 5].contains(replicas) { problems.append("replicas must be 1, 3 or 5") }
    return problems
  }
}

extension ConfigurationKeys {
  static let broker: [ConfigurationKey<NATSClusterConfiguration>] =
    [
      .init(
        "servers", listOf: .broker, \.servers, "required",
        "NATS servers of one cluster, with JetStream; cameras can then move between nodes ([cluster.md](cluster.md))"
      )
    ]
    + ConfigurationKey<NATSClusterConfiguration>.secret(
      "token", .token, \.token, "none", "a token that the servers accept")
    + [.init("user", .userName, \.user, "none", "the user name at the servers")]
    + ConfigurationKey<NATSClusterConfiguration>.secret(
      "password", .password, \.password, "none", "the user's password")
    + ConfigurationKey<NATSClusterConfiguration>.secret(
      "nkey", .seed, \.seed, "none", "the seed of an nkey, `SU...`")
    + [
      .init(
        "ca-file", .file, \.authorities, "the system's",
        "trusted certificates for `tls://` servers, PEM"),
      .init("certificate", .file, \.certificate, "none", "this node's certificate, PEM"),
      .init("key", .file, \.key, "none", "the key of the certificate, PEM"),
      .init(
        "prefix", .prefix, \.prefix, "`glp`",
        "the name of the cluster: the name of the bucket, and the first token of all subjects"),
      .init(
        "replicas", .whole(1...5), \.replicas, "`1`", "the number of servers that store the leases: 1, 3 or 5"
      ),
    ]
}

extension ConfigurationFormat<String> {
  fileprivate static var broker: Self {
    Self("`nats://HOST:PORT`, `tls://HOST:PORT`", isSecret: true) { text in
      do { _ = try NATSServerAddress(text) } catch { throw ParameterError("\(error)") }
      return text
    }
  }

  fileprivate static var seed: Self {
    Self("an nkey seed", isSecret: true) { text in
      do { _ = try NKey(seed: text) } catch { throw ParameterError("\(error)") }
      return text
    }
  }

  fileprivate static var prefix: Self {
    Self("letters, digits, `-`, `_`") { text in
      guard NATSSubject.isToken(text), text.utf8.count <= 32 else {
        throw ParameterError("must be 1 to 32 letters, digits, '-' and '_'")
      }
      return text
    }
  }
}
