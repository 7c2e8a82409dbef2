// Requests to peers, with the token, the hop and a role, and never with credentials of a client.
package import AsyncHTTPClient
internal import FoundationEssentials
package import NIOCore
package import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

package final class PeerClient: Sendable {
  /// A request to a peer.
  package struct Call: Sendable {
    package var method = HTTPMethod.GET
    /// The base URL of the peer.
    package var peer: String
    /// The path and query, beginning with a slash.
    package let target: String
    package var role = Role.read
    package var headers = HTTPHeaders()
    package var body: ByteBuffer?

    package init(
      method: HTTPMethod = HTTPMethod.GET, peer: String, target: String, role: Role = Role.read,
      headers: HTTPHeaders = HTTPHeaders(), body: ByteBuffer? = nil
    ) {
      (self.method, self.peer, self.target, self.role, self.headers, self.body) = (
        method, peer, target, role, headers, body
      )
    }
  }

  /// The most connections to one peer, for requests and videos.
  private static let connectionsPerPeer = 128

  private let timeouts: ServiceTimeouts
  private let roots: [NIOSSLCertificate]
  private let client = Mutex<HTTPClient?>(nil)
  private let secret: Mutex<String?>

  /// - Throws: `ClusterError` if the file of certificates can't be used.
  init(_ configuration: ClusterConfiguration, timeouts: ServiceTimeouts) throws(ClusterError) {
    self.timeouts = timeouts
    secret = Mutex(configuration.token)
    guard let path = configuration.certificates else {
      roots = []
      return
    }
    do { roots = try NIOSSLCertificate.fromPEMFile(path) } catch {
      throw ClusterError(description: "\(path): is not a PEM certificate (\(error))")
    }
    guard !roots.isEmpty else { throw ClusterError(description: "\(path): contains no certificate") }
  }

  /// Switches to another token.
  func update(_ configuration: ClusterConfiguration) { secret.withLock { $0 = configuration.token } }

  var token: String? { secret.withLock { $0 } }

  func start() {
    var options = HTTPClient.Configuration()
    options.redirectConfiguration = .disallow
    options.timeout = .init(
      connect: TimeAmount(timeouts.peerConnects), read: TimeAmount(timeouts.peerSilence))
    options.connectionPool.retryConnectionEstablishment = false
    options.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionsPerPeer
    options.httpVersion = .http1Only
    var tls = TLSConfiguration.makeClientConfiguration()
    if !roots.isEmpty { tls.additionalTrustRoots = [.certificates(roots)] }
    options.tlsConfiguration = tls
    let new = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
    client.withLock { $0 = new }
  }

  func stop() async {
    let old = client.withLock { client in
      defer { client = nil }
      return client
    }
    try? await old?.shutdown()
  }

  /// Returns the header fields that authenticate this node to a peer, and contain its client's role.
  func fields(for role: Role) -> [(name: String, value: String)] {
    var fields = [(PeerField.hop, "1"), (PeerField.role, role.rawValue)]
    if let token { fields.append(("Authorization", "Bearer \(token)")) }
    return fields
  }

  /// Sends a request, and waits for the head of the answer.
  ///
  /// - Returns: the answer; nil if it does not come within `limit`.
  /// - Throws: the errors of the connection.
  package func send(_ call: Call, within limit: Duration) async throws -> HTTPClientResponse? {
    guard let client = client.withLock({ $0 }) else { throw PeerFailure("is no longer a peer") }
    var request = HTTPClientRequest(url: call.peer + call.target)
    request.method = call.method
    request.headers = call.headers
    request.headers.add(name: "User-Agent", value: "glpreview")
    for (name, value) in fields(for: call.role) { request.headers.add(name: name, value: value) }
    if let body = call.body { request.body = .bytes(body) }
    return try await withDeadline(limit) { [request] in
      // `withDeadline` enforces the limit; this timeout only has to be longer.
      try await client.execute(request, timeout: .hours(24))
    }
  }
}

/// The error for a certificate file of the cluster's configuration that can't be used.
struct ClusterError: Error, CustomStringConvertible {
  let description: String
}

extension PeerFailure {
  /// Creates the reason why a connection failed, without addresses.
  package init(_ error: any Error) {
    switch error {
    case let failure as PeerFailure: self = failure
    case is NIOConnectionError, is IOError: self.init("can't be reached")
    case let error as HTTPClientError where error == .connectTimeout:
      self.init("did not accept a connection in time")
    case is NIOSSLError, is BoringSSLError:
      self.init("failed the TLS handshake: its certificate may not be trusted (see cluster.ca-file)")
    case let error as HTTPClientError: self.init("broke the connection (\(error.shortDescription))")
    case is NIOTooManyBytesError: self.init("sent too much data")
    default: self.init("broke the connection")
    }
  }
}
