// One server as we speak to it: at whichever of its addresses answers, with the password that it asks for.
#if HTTP
  internal import Dispatch
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOSSL
  internal import PreviewCore

  /// What requests to a server carry.
  struct HTTPRequestOptions: Sendable {
    var credentials: HTTPAddress.Credentials?
    /// Beside ours; they win over ours.
    var headers: [HeaderField] = []
    /// Whom TLS trusts; the system's unless told.
    var trustRoots = NIOSSLTrustRoots.default
    var connectsWithin: Duration
  }

  /// Asks one server for one thing after another.
  actor HTTPServer {
    /// An answer whose head is there.
    struct Reply: Sendable {
      let head: HTTPResponseHead
      let time: Duration
      let answer: HTTPAnswer
    }

    /// Bodies that nobody wants are read up to here, so that the connection can be used again.
    private static let drainLimit = 64 << 10
    /// With several addresses, one that does not answer is given no more.
    private static let connectsWithin = Duration.seconds(3)

    private let server: HTTPAddress.Server
    private let options: HTTPRequestOptions
    private var session: HTTPSession?
    private var authorization: HTTPAuthorization?
    private var hasReplied = false

    init(_ server: HTTPAddress.Server, _ options: HTTPRequestOptions) {
      self.server = server
      self.options = options
    }

    /// The answer to a GET, whatever its status is; a question for a password is answered first, if one is known.
    ///
    /// Asked for one thing at a time.
    func get(_ address: HTTPAddress, _ conditions: [HeaderField] = []) async throws -> Reply {
      let reply = try await send(address, conditions)
      guard reply.head.status == .unauthorized, let credentials = options.credentials else { return reply }
      let challenges = HTTPChallenge.parse(reply.head.headers["www-authenticate"])
      // What was answered before is wrong, unless it only was too old.
      guard authorization == nil || HTTPAuthorization.isStale(challenges),
        let authorization = HTTPAuthorization(answering: challenges, credentials)
      else { return reply }
      self.authorization = authorization
      try await discard(reply)
      return try await send(address, conditions)
    }

    /// Lets an answer go whose body nobody wants.
    func discard(_ reply: Reply) async throws {
      guard try await reply.answer.body(limit: Self.drainLimit) == nil else { return }
      await end()
    }

    /// Ends the connection; the next request makes another one.
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
          // A server may close a connection that it has kept for a while just when it is used again.
          await end()
        }
      }
      return try await sendFirst(address, conditions)
    }

    /// The same by a new connection, to the first address that can be connected to.
    private func sendFirst(_ address: HTTPAddress, _ conditions: [HeaderField]) async throws -> Reply {
      await end()
      let addresses = try await HostLookup.addresses(of: server.host)
      let tls = server.scheme == .https ? try await Self.context(options.trustRoots) : nil
      let limit =
        addresses.count > 1 ? min(Self.connectsWithin, options.connectsWithin) : options.connectsWithin
      for (index, numeric) in addresses.enumerated() {
        let session = HTTPSession(to: server, at: numeric, tls: tls, connectsWithin: limit)
        self.session = session
        do {
          let reply = try await send(address, conditions, by: session)
          hasReplied = true
          return reply
        } catch {
          await end()
          try Task.checkCancellation()
          if index == addresses.count - 1 || !Self.isFailureToConnect(error) { throw error }
        }
      }
      throw HTTPConnectionClosed()
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
      case is IOError: true
      case let error as ChannelError: if case .connectTimeout = error { true } else { false }
      default: false
      }
    }

    private static func nonce() -> String {
      var generator = SystemRandomNumberGenerator()
      return String(generator.next(), radix: 16) + String(generator.next(), radix: 16)
    }

    /// Reads what the system trusts, on a thread that may wait for its disk.
    private static func context(_ roots: NIOSSLTrustRoots) async throws -> NIOSSLContext {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          var configuration = TLSConfiguration.makeClientConfiguration()
          configuration.trustRoots = roots
          configuration.applicationProtocols = ["http/1.1"]
          continuation.resume(with: Result { try NIOSSLContext(configuration: configuration) })
        }
      }
    }
  }
#endif
