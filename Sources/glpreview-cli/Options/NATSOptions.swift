// The options for NATS servers: addresses, credentials, and the names that are used there.
import ArgumentParser
import GLPreview
import Logging
import NATS

struct NATSOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A NATS server with JetStream: nats://HOST:PORT, or tls://HOST:PORT. Repeatable; the other servers of a cluster are discovered.",
      valueName: "URL"))
  var nats: [String] = []

  @Option(help: ArgumentHelp("A file with the token for NATS.", valueName: "FILE"))
  var tokenFile: String?

  @Option(help: ArgumentHelp("The user's name for NATS.", valueName: "NAME"))
  var user: String?

  @Option(help: ArgumentHelp("A file with that user's password.", valueName: "FILE"))
  var passwordFile: String?

  @Option(help: ArgumentHelp("A file with a user's nkey seed (SU...).", valueName: "FILE"))
  var nkeyFile: String?

  @Option(
    help: ArgumentHelp(
      "Certificates to trust instead of the system's, in PEM format. Servers without TLS are rejected.",
      valueName: "FILE"))
  var caFile: String?

  @Option(
    help: ArgumentHelp(
      "This client's certificate for servers that ask for one, in PEM format, followed by intermediate ones.",
      valueName: "FILE"))
  var certFile: String?

  @Option(help: ArgumentHelp("The key of that certificate, in PEM format.", valueName: "FILE"))
  var keyFile: String?

  @Option(
    help: ArgumentHelp("The prefix of all subjects and names in NATS.", valueName: "WORD"))
  var prefix = "glp"

  @Option(
    help: ArgumentHelp(
      "How many servers of a cluster store the jobs: 1, 3 or 5. Applies when the queue is created.",
      valueName: "N"))
  var replicas = 1

  func validate() throws {
    guard NATSSubject.isToken(prefix), prefix.utf8.count <= 32 else {
      throw ValidationError("--prefix \(prefix) is not a word of letters, digits, '-' and '_'")
    }
    guard [1, 3, 5].contains(replicas) else {
      throw ValidationError("--replicas \(replicas) is not 1, 3 or 5")
    }
    guard (user == nil) == (passwordFile == nil) else {
      throw ValidationError("--user and --password-file must be given together")
    }
    guard (certFile == nil) == (keyFile == nil) else {
      throw ValidationError("--cert-file and --key-file must be given together")
    }
    let ways = [tokenFile, user, nkeyFile].compactMap(\.self)
    guard ways.count < 2 else {
      throw ValidationError("--token-file, --user and --nkey-file can't be combined")
    }
  }

  /// Returns the configuration of a client. `firstConnection` specifies whether connecting waits for a server that
  /// can't be reached at first.
  ///
  /// - Throws: `UsageError` or `NATSError` if a file or an address is unusable.
  func configuration(_ firstConnection: NATSConfiguration.FirstConnection) throws -> NATSConfiguration {
    guard !nats.isEmpty else { throw UsageError("--nats URL is missing") }
    var configuration = NATSConfiguration(servers: try nats.map { try NATSServerAddress($0) })
    configuration.firstConnection = firstConnection
    configuration.authentication = try authentication()
    if caFile != nil || certFile != nil {
      configuration.tls = NATSConfiguration.TLS(authorities: caFile, certificate: certFile, key: keyFile)
    }
    return configuration
  }

  private func authentication() throws -> NATSAuthentication {
    if let tokenFile { return .token(try Self.secret(tokenFile)) }
    if let user, let passwordFile { return .user(user, password: try Self.secret(passwordFile)) }
    if let nkeyFile { return .nkey(try NKey(seed: try Self.secret(nkeyFile))) }
    return .none
  }

  /// Returns the first line of a file, trimmed.
  private static func secret(_ path: String) throws -> String {
    guard let line = SystemFiles.line(path) else { throw UsageError("\(path) can't be read") }
    let secret = String(line.reversed().drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace })
    guard !secret.isEmpty else { throw UsageError("the first line of \(path) is empty") }
    return secret
  }
}

extension Logger {
  /// A logger for commands, which report events themselves.
  static var silent: Logger { Logger(label: "nats") { _ in SwiftLogNoOpLogHandler() } }
}
