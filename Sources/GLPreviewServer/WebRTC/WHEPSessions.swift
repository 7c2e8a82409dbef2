// The WebRTC sessions of a service. The port is opened for the first one. A session ends when its view or its
// client's credentials lose their validity.
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

final class WHEPSessions: Service, CustomStringConvertible {
  private let directory: ViewDirectory
  private let logger: Logger
  private let gate: AdmissionLimit
  let counters = WebRTCCounters()
  private let state: Mutex<State>

  private struct State {
    var configuration: WebRTCConfiguration
    /// The service's own address, which the port uses unless the configuration says otherwise.
    let bind: ListenAddress
    /// Shared by all tasks that need the port while it is opened.
    var port: Task<WHEPPort, any Error>?
    /// Whether a picture has been encoded.
    var hasEncoded = false
    var isOver = false
  }

  init(
    _ directory: ViewDirectory, _ configuration: WebRTCConfiguration, at bind: ListenAddress,
    capacity: Int, logger: Logger
  ) {
    (self.directory, self.logger) = (directory, logger)
    gate = AdmissionLimit(capacity: capacity, subject: "WebRTC sessions", retryAfter: 5)
    state = Mutex(State(configuration: configuration, bind: bind))
  }

  var configuration: WebRTCConfiguration { state.withLock { $0.configuration } }

  /// Whether there is an address for WebRTC.
  var hasAddress: Bool {
    state.withLock { state in
      switch state.configuration.listen {
      case .off: false
      case .at: true
      case .automatic: if case .host = state.bind { true } else { false }
      }
    }
  }

  /// Whether offers can be answered: there is an address, and the libraries are available.
  var isAvailable: Bool { hasAddress && WebRTCError.ofLibraries == nil }

  /// A session's name, and the answer for its client.
  struct Begun: Sendable {
    let id: String
    let answer: String
  }

  /// Begins a session for the client of the current request.
  ///
  /// `asked` is the local address that the request came to, and `grant` is the request's. `pictures` reads
  /// the view, from a keyframe on.
  ///
  /// - Throws: `Problem`.
  func begin(
    _ offer: SDPOffer, _ target: ServedPreview, asked: String?, by grant: ClientGrant?,
    pictures: @escaping WHEPFeed.Pictures
  ) async throws -> Begun {
    if let missing = WebRTCError.ofLibraries { throw Problem(.notImplemented, missing.description) }
    let permit = try gate.enter()
    // Another node's stream is encoded there.
    if target.remoteView == nil { try await checkEncoder(pictures) }
    let port = try await openPort()
    let client = RequestClient.current
    let terms = WHEPSession.Terms(
      id: Self.word(32), offer: offer, fragment: Self.word(8), password: Self.word(32),
      ssrc: .random(in: 1 ... .max))
    let (identity, counters, consent) = (port.identity, counters, directory.registry.timeouts.webRTCConsent)
    let view = try directory.registry.grants.grant(ViewRight(target, .asServed))
    let own = try grant?.another(.read) { [weak self] in self?.end(terms.id, Self.revoked) }
    do {
      try await port.add(
        {
          WHEPSession(
            terms, showing: view, identity, for: client, by: own, holding: permit, counting: counters,
            consent: consent, at: CaptureClock.now)
        },
        pictures: pictures)
    } catch is ChannelError {
      throw Problem.busy(.serviceUnavailable, "the WebRTC port has just been closed", retryAfter: 1)
    }
    view.whenRevoked { [weak self, weak view] in
      // A camera that moves is followed. If its view is not found again, the feed ends the session.
      guard let self, let view, !directory.catalogue.moves(target.camera) else { return }
      do throws(Problem) { try view.check() } catch { end(terms.id, error.endOfView) }
    }
    if own?.isValid == false {
      end(terms.id, Self.revoked)
      throw Problem(.unauthorized, "these credentials are no longer valid")
    }
    logger.info(
      "WebRTC session started", metadata: ["camera": "\(target.camera)", "view": "\(target.name)"])
    let answer = SDPAnswer(
      fragment: terms.fragment, password: terms.password, fingerprint: identity.fingerprint,
      ssrc: terms.ssrc,
      candidates: WHEPAddresses.candidates(
        configured: configuration.candidates, bound: port.address, asked: asked,
        interfaces: WHEPAddresses.ofInterfaces), name: "glpreview")
    return Begun(id: terms.id, answer: answer.text(to: offer))
  }

  private static let revoked = "its client's credentials are no longer valid"

  /// Throws if nothing here encodes H.264, which the first picture of all shows.
  private func checkEncoder(_ pictures: @escaping WHEPFeed.Pictures) async throws {
    guard !state.withLock({ $0.hasEncoded }) else { return }
    do {
      let isThere = try await withDeadline(Self.encodesWithin) {
        try await pictures().next() != nil
      }
      if isThere == true { state.withLock { $0.hasEncoded = true } }
    } catch let error as VideoError where error.kind == .unavailable {
      throw Problem(.notImplemented, error.description)
    } catch let error as CancellationError {
      throw error
    } catch {
      // What fails now may work in a second; the session tries again.
      logger.warning("WebRTC session interrupted", metadata: ["reason": "\(error)"])
    }
  }

  /// How long the first answer waits for the first picture.
  private static let encodesWithin = Duration.seconds(2)

  /// Letters and digits, which ICE and URLs allow: each is worth almost six bits.
  private static func word(_ count: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    var generator = SystemRandomNumberGenerator()
    return String((0..<count).compactMap { _ in letters.randomElement(using: &generator) })
  }

  /// Checks that a session exists, is of this view, and belongs to the client of the current request. Clients
  /// with the role `control` may end any session.
  ///
  /// - Throws: `Problem` 404, which does not reveal the sessions of other clients.
  func check(_ id: String, of camera: String, _ view: String, _ role: Role?) async throws {
    let client = RequestClient.current
    let isThere =
      try await openedPort?.find(id) { session in
        session.target.camera == camera && session.target.name == view
          && (role == .control || session.client?.secret == client?.secret)
      } ?? false
    guard isThere else { throw Problem.notFound("no such WebRTC session") }
  }

  func end(_ id: String) async {
    await openedPort?.end { $0.terms.id == id ? "ended by the client" : nil }
  }

  /// Whether a session is at this node.
  func has(_ id: String) async -> Bool { (try? await openedPort?.find(id) { _ in true }) == true }

  /// Applies a new configuration. If the port changes, the old one is closed with its sessions.
  func apply(_ new: WebRTCConfiguration) {
    let old = state.withLock { state -> Task<WHEPPort, any Error>? in
      let isOther = state.configuration.listen != new.listen
      state.configuration = new
      guard isOther else { return nil }
      defer { state.port = nil }
      return state.port
    }
    if let old { Task { await (try? old.value)?.close() } }
  }

  private func end(_ id: String, _ reason: String) { end { $0.terms.id == id ? reason : nil } }

  private func end(_ reason: @escaping @Sendable (WHEPSession) -> String?) {
    guard let port = state.withLock({ $0.port }) else { return }
    Task { (try? await port.value)?.end(reason) }
  }

  // MARK: The port

  private var openedPort: WHEPPort? {
    get async {
      guard let task = state.withLock({ $0.port }) else { return nil }
      return try? await task.value
    }
  }

  /// - Throws: `Problem`: 501 if WebRTC is off, 503 if the port can't be opened, or the service ends.
  private func openPort() async throws -> WHEPPort {
    let known = state.withLock { $0.port }
    if let known, let port = try? await known.value, port.isOpen { return port }
    let task = try state.withLock { state throws(Problem) -> Task<WHEPPort, any Error> in
      // Another task may have found it closed, and opened another one.
      if let port = state.port, port != known { return port }
      guard !state.isOver else {
        throw .busy(.serviceUnavailable, "the service is shutting down", retryAfter: 5)
      }
      let task = try Self.opening(state.configuration.listen, state.bind, counters, logger)
      state.port = task
      return task
    }
    do { return try await task.value } catch {
      logger.error("WebRTC port not opened", metadata: ["reason": "\(error)"])
      throw Problem.busy(.serviceUnavailable, "can't open the WebRTC port", retryAfter: 5)
    }
  }

  private static func opening(
    _ listen: WebRTCConfiguration.Listen, _ bind: ListenAddress, _ counters: WebRTCCounters, _ logger: Logger
  ) throws(Problem) -> Task<WHEPPort, any Error> {
    let open: @Sendable (String, Int) async throws -> WHEPPort = { host, port in
      try await WHEPPort.open(host: host, port: port, counting: counters, logger: logger)
    }
    switch listen {
    case .off: throw Problem(.notImplemented, "WebRTC is off: set webrtc.listen in the configuration")
    case .at(let host, let port): return Task { try await open(host, port) }
    case .automatic:
      guard case .host(let host, let port) = bind else {
        throw Problem(
          .notImplemented, "the service listens on a Unix socket: set webrtc.listen to an address for WebRTC")
      }
      return Task {
        do { return try await open(host, port) } catch is IOError {
          logger.warning(
            "WebRTC listens on another port: the service's port is in use by UDP",
            metadata: ["port": "\(port)"])
          return try await open(host, 0)
        }
      }
    }
  }

  // MARK: The service

  func run() async throws {
    // A configured port is opened now, so that a mistake shows at the start.
    if case .at = configuration.listen {
      if let missing = WebRTCError.ofLibraries {
        logger.warning("WebRTC unavailable", metadata: ["reason": "\(missing)"])
      } else {
        _ = try? await openPort()
      }
    }
    try? await gracefulShutdown()
    let port = state.withLock { state in
      state.isOver = true
      defer { state.port = nil }
      return state.port
    }
    await (try? port?.value)?.close()
  }
}
