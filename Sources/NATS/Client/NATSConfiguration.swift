// Configuration of a client: servers, credentials, TLS, and limits.
internal import NIOCore
internal import NIOSSL

/// The configuration of a client.
package struct NATSConfiguration: Sendable {
  /// Servers of one cluster. The client learns the addresses of other servers from them.
  package var servers: [NATSServerAddress]
  /// The client's name in the servers' monitoring.
  package var name = "glpreview"
  /// The credentials.
  package var authentication = NATSAuthentication.none
  /// Trusted authorities and client certificate. If set, servers without TLS are refused. If nil, TLS is used
  /// only for `tls://` addresses, with the system's authorities.
  package var tls: TLS?
  /// Whether `NATSClient.connect` waits for a connection.
  package var firstConnection = FirstConnection.required
  /// The order in which servers are tried.
  package var order = Order.random
  /// The time limit for connecting, including TLS and authentication.
  package var connectTimeout = Duration.seconds(5)
  /// The default time limit for requests, `flush` and JetStream calls.
  package var requestTimeout = Duration.seconds(5)
  /// The interval of PINGs; zero sends none. After `missedPongs` intervals without any data, the connection
  /// is closed.
  package var pingInterval = Duration.seconds(30)
  /// The number of unanswered PINGs that are tolerated.
  package var missedPongs = 2
  /// Pauses between attempts.
  package var backoff = ReconnectBackoff()
  /// The number of consecutive times that a server may refuse the credentials before it is abandoned. When no
  /// server is left, the client is closed.
  package var authenticationAttempts = 2
  /// The maximum number of bytes waiting to be sent, with or without a connection. Beyond this, `publish`
  /// throws.
  package var maximumPendingBytes = 8 << 20
  /// The longest message accepted from a server, in bytes, even if the server announces a higher limit.
  package var maximumPayload = 16 << 20

  /// Creates a configuration with the defaults.
  package init(servers: [NATSServerAddress]) { self.servers = servers }

  /// Whether `NATSClient.connect` waits for a connection.
  package enum FirstConnection: Sendable {
    /// Waits for a connection, and throws when every server has failed once.
    case required
    /// Returns immediately. The client connects in the background, as after a lost connection.
    case retried
  }

  /// The order in which servers are tried.
  package enum Order: Sendable {
    /// A random order, which spreads many clients over the servers.
    case random
    /// The order of `servers`.
    case given
  }

  /// TLS settings. Files are in PEM format.
  package struct TLS: Sendable {
    /// The certificates of trusted authorities; nil for the system's.
    package var authorities: String?
    /// The client's certificate, followed by intermediate ones.
    package var certificate: String?
    /// The key of the client's certificate.
    package var key: String?
    /// The name to expect in the server's certificate, if it differs from the host in the address.
    package var serverName: String?

    /// Creates TLS settings. By default, the system's authorities and no client certificate.
    package init(
      authorities: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
    ) {
      self.authorities = authorities
      self.certificate = certificate
      self.key = key
      self.serverName = serverName
    }

    /// Reads the files, which blocks.
    func context() throws(NATSError) -> NIOSSLContext {
      do {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authorities { configuration.trustRoots = .file(authorities) }
        if let certificate {
          configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map {
            .certificate($0)
          }
        }
        if let key { configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)) }
        return try NIOSSLContext(configuration: configuration)
      } catch {
        throw .invalidConfiguration("TLS can't be set up from these files: \(error)")
      }
    }
  }
}

/// The limits of a subscription's buffer, and which messages a slow reader loses.
package struct NATSBufferLimit: Sendable, Equatable {
  /// The maximum number of messages.
  package var messages: Int
  /// Their approximate maximum size in bytes.
  package var bytes: Int
  /// Which messages are dropped when the buffer is full.
  package var overflow: Overflow

  /// Which messages are dropped when the buffer is full.
  package enum Overflow: Sendable {
    /// The oldest messages. Best for states and events, where the newest matter most.
    case oldest
    /// The newest messages. Best if the reader detects gaps and requests the missed messages.
    case newest
  }

  /// Creates a limit. By default 1024 messages and 16 MiB; the oldest are dropped.
  package init(messages: Int = 1024, bytes: Int = 16 << 20, overflow: Overflow = .oldest) {
    self.messages = messages
    self.bytes = bytes
    self.overflow = overflow
  }
}

extension Duration {
  /// Whole nanoseconds, clamped to 64 bits.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds < Int64.max / 2_000_000_000 ? seconds * 1_000_000_000 + attoseconds / 1_000_000_000 : .max
  }

  /// The duration as NIO's type.
  var timeAmount: TimeAmount { .nanoseconds(nanoseconds) }
}
