// Sends requests to one server: uses the first of its addresses that responds, and authenticates if the
// server requires it.
internal import NIOCore
internal import NIOHTTP1

struct HTTPRequestOptions: Sendable {
  var credentials: HTTPAddress.Credentials?
  /// Additional header fields, which replace built-in ones.
  var headers: [SourceOptions.HeaderField] = []
  /// The certificates that TLS accepts.
  var certificate = CertificateTrust.system
  /// The path of a PEM file with certificates that are trusted in addition to the system's.
  var trustedCertificates: String?
  var connectsWithin: Duration
}

actor HTTPServer {
  typealias HeaderField = SourceOptions.HeaderField

  /// A response whose head has arrived.
  struct Reply: Sendable {
    let head: HTTPResponseHead
    let time: CaptureInstant
    let answer: HTTPAnswer
  }

  /// Unwanted bodies are read up to this size, so that the connection can be reused.
  private static let drainLimit = 64 << 10
  /// The time limit for each address if there are several.
  private static let connectsWithin = Duration.seconds(3)

  private let server: HTTPAddress.Server
  private let options: HTTPRequestOptions
  private var session: HTTPSession?
  /// TLS's certificate rules, the last successful one first; nil before the first connection.
  private var tls: [TLSVerification]?
  private var authorization: HTTPAuthorization?
  private var hasReplied = false

  init(_ server: HTTPAddress.Server, _ options: HTTPRequestOptions) {
    self.server = server
    self.options = options
  }

  /// Returns the response to a GET, whatever its status, after answering a challenge for a password. One
  /// request at a time.
  func get(_ address: HTTPAddress, _ conditions: [HeaderField] = []) async throws -> Reply {
    let reply = try await send(address, conditions)
    guard reply.head.status == .unauthorized, let credentials = options.credentials else { return reply }
    let challenges = HTTPChallenge.parse(reply.head.headers["www-authenticate"])
    // A second challenge means that the password is wrong, unless the first answer was only stale.
    guard authorization == nil || HTTPAuthorization.isStale(challenges),
      let authorization = HTTPAuthorization(answering: challenges, credentials)
    else { return reply }
    self.authorization = authorization
    try await discard(reply)
    return try await send(address, conditions)
  }

  func discard(_ reply: Reply) async throws {
    guard try await reply.answer.body(limit: Self.drainLimit) == nil else { return }
    await end()
  }

  /// Closes the connection. The next request makes a new one.
  func end() async {
    let session = session
    self.session = nil
    hasReplied = false
    await session?.end()
  }

  private func send(_ address: HTTPAddress, _ conditions: [HeaderField]) async throws -> Reply {
    if let session, hasReplied {
      do {
        return try await send(address, conditions, by: session)
      } catch {
        try Task.checkCancellation()
        // A server may close an idle connection at the moment it is reused.
        await end()
      }
    }
    return try await sendFirst(address, conditions)
  }

  /// Sends over a new connection, to the first address that can be connected to.
  private func sendFirst(_ address: HTTPAddress, _ conditions: [HeaderField]) async throws -> Reply {
    await end()
    let addresses = try await HostLookup.addresses(of: server.host)
    let limit =
      addresses.count > 1 ? min(Self.connectsWithin, options.connectsWithin) : options.connectsWithin
    for (index, numeric) in addresses.enumerated() {
      do {
        return try await sendFirst(address, conditions, at: numeric, within: limit)
      } catch {
        try Task.checkCancellation()
        if index == addresses.count - 1 || !Self.isFailureToConnect(error) { throw error }
      }
    }
    throw HTTPConnectionClosed()
  }

  /// Sends over a new connection to one address, with the first certificate rule that accepts the server's
  /// certificate.
  private func sendFirst(
    _ address: HTTPAddress, _ conditions: [HeaderField], at numeric: String, within limit: Duration
  ) async throws -> Reply {
    let alternatives: [TLSVerification?] = try await rules() ?? [nil]
    for (index, rule) in alternatives.enumerated() {
      let session = HTTPSession(to: server, at: numeric, tls: rule, connectsWithin: limit)
      self.session = session
      do {
        let reply = try await send(address, conditions, by: session)
        tls?.swapAt(0, index)
        hasReplied = true
        return reply
      } catch {
        await end()
        try Task.checkCancellation()
        guard error is CertificateFailure, index < alternatives.count - 1 else { throw error }
      }
    }
    throw HTTPConnectionClosed()
  }

  /// Returns the certificate rules; nil for a server without TLS.
  private func rules() async throws -> [TLSVerification]? {
    guard server.scheme == .https, tls == nil else { return tls }
    tls = try await TLSVerification.rules(
      for: options.certificate, additional: options.trustedCertificates, protocols: ["http/1.1"])
    return tls
  }

  private func send(_ address: HTTPAddress, _ conditions: [HeaderField], by session: HTTPSession)
    async throws -> Reply
  {
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: address.hostField)
    headers.add(name: "Accept", value: "image/jpeg, multipart/x-mixed-replace, */*;q=0.5")
    headers.add(name: "User-Agent", value: "glpreview")
    if let value = authorization?.field(target: address.target, clientNonce: Self.nonce()) {
      headers.add(name: "Authorization", value: value)
    }
    for field in options.headers + conditions { headers.replaceOrAdd(name: field.name, value: field.value) }
    let answer = session.get(address, headers)
    let (head, time) = try await answer.head()
    return Reply(head: head, time: time, answer: answer)
  }

  private static func isFailureToConnect(_ error: any Error) -> Bool {
    switch error {
    case is IOError, ChannelError.connectTimeout: true
    default: false
    }
  }

  private static func nonce() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(generator.next(), radix: 16) + String(generator.next(), radix: 16)
  }
}
