// What a client is told: where servers are, who it is, and its limits.
internal import NIOCore
internal import NIOSSL

/// The configuration of a client. Durations of zero are none.
package struct NATSConfiguration: Sendable {
  /// Servers of one cluster; the client learns of others from them.
  package var servers: [NATSServerAddress]
  /// What servers show of this client.
  package var name = "glpreview"
  /// Who it is.
  package var authentication = NATSAuthentication.none
  /// Trust and client certificate. nil: the system's trust, where a server or its address asks for TLS. With a value,
  /// servers that offer no TLS are refused.
  package var tls: TLS?
  /// What `NATSClient.connect` waits for.
  package var firstConnection = FirstConnection.required
  /// The order in which servers are tried.
  package var order = Order.random
  /// For a connection with TLS and credentials.
  package var connectTimeout = Duration.seconds(5)
  /// For the answer to a request, to a flush, and to what JetStream is asked.
  package var requestTimeout = Duration.seconds(5)
  /// How often a server is asked for a sign of life. It is left when `missedPongs` times nothing came.
  package var pingInterval = Duration.seconds(30)
  /// See `pingInterval`.
  package var missedPongs = 2
  /// Pauses between attempts.
  package var backoff = ReconnectBackoff()
  /// How many refusals of its credentials in a row make the client give a server up. When all are given up, it is closed.
  package var authenticationAttempts = 2
  /// The most bytes that wait to be sent, also while there is no connection; `publish` throws beyond it.
  package var maximumPendingBytes = 8 << 20
  /// The longest message taken from a server, whatever it says of itself, in bytes.
  package var maximumPayload = 16 << 20

  /// Defaults for a service.
  package init(servers: [NATSServerAddress]) { self.servers = servers }

  /// What `NATSClient.connect` waits for.
  package enum FirstConnection: Sendable {
    /// A connection; it throws when every server has failed once.
    case required
    /// Nothing: the client is there at once, and goes on trying as it does after a loss.
    case retried
  }

  /// The order in which servers are tried.
  package enum Order: Sendable {
    /// So that many clients spread over the servers.
    case random
    /// As in `servers`.
    case given
  }

  /// TLS, by files in PEM.
  package struct TLS: Sendable {
    /// Certificates to trust; nil: the system's.
    package var authorities: String?
    /// The client's certificate, and others behind it that lead to what the server trusts.
    package var certificate: String?
    /// Its key.
    package var key: String?
    /// The name in the server's certificate, if that isn't the one in its address.
    package var serverName: String?

    /// The system's trust, and no client certificate.
    package init(
      authorities: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
    ) {
      self.authorities = authorities
      self.certificate = certificate
      self.key = key
      self.serverName = serverName
    }

    /// Reads the files; it blocks.
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

/// How much of a subscription may wait for its reader, and what is lost beyond it.
package struct NATSBufferLimit: Sendable, Equatable {
  /// Messages.
  package var messages: Int
  /// Bytes of them, roughly.
  package var bytes: Int
  /// What a reader that is too slow loses.
  package var overflow: Overflow

  /// What a slow reader loses.
  package enum Overflow: Sendable {
    /// The messages that have waited longest: right for states and events.
    case oldest
    /// The messages that come: right where the reader notices gaps and asks for what it has missed.
    case newest
  }

  /// 1024 messages and 16 MiB, without the oldest.
  package init(messages: Int = 1024, bytes: Int = 16 << 20, overflow: Overflow = .oldest) {
    self.messages = messages
    self.bytes = bytes
    self.overflow = overflow
  }
}

extension Duration {
  /// In whole nanoseconds; the longest that a time can be where it is longer.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds < Int64.max / 2_000_000_000 ? seconds * 1_000_000_000 + attoseconds / 1_000_000_000 : .max
  }

  /// As NIO has it.
  var timeAmount: TimeAmount { .nanoseconds(nanoseconds) }
}
