// A connection of an RTSP client: answers its requests in order, and sends the packets of the view that it
// plays.
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Used by one task, except for sending.
final class RTSPConnection {
  private let parts: RTSPServer.Parts
  private let channel: any Channel
  private let client: ClientGroup
  /// The client's address, for logs.
  private let address: String
  private let access: RTSPAccess
  private let lastReceived = Watched(CaptureClock.now)
  private var parser = RTSPParser()
  private var session: RTSPSession?
  private var keptAliveAt: CaptureInstant?
  /// A grant for each credential that the client has proved.
  private var grants: [ClientGrant] = []

  init(_ parts: RTSPServer.Parts, _ channel: any Channel, _ client: ClientGroup) {
    (self.parts, self.channel, self.client) = (parts, channel, client)
    address = channel.remoteAddress?.ipAddress ?? "unix"
    access = RTSPAccess(parts.access, client)
  }

  static let timeout = 60
  /// How long nothing is read from a client with too many requests.
  private static let pause = Duration.seconds(1)
  /// How often the client of a session may send a request that does not count against the limit of its
  /// address, so that other clients of that address do not end the session.
  private static let keepsAliveEvery = Duration.seconds(1)
  private static let methods = "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN"

  /// Answers until the client disconnects or sends invalid data.
  func run(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async {
    // TCP detects by itself whether packets arrive. UDP does not.
    let limit = Watched<Duration?>(parts.idle)
    let watchdog = Self.watchdog(of: channel, lastReceived, limit)
    defer {
      watchdog.cancel()
      session?.end()
    }
    do {
      for try await bytes in inbound {
        lastReceived.update { $0 = CaptureClock.now }
        parser.append(bytes)
        while let message = try parser.next() {
          let wait = secondsToWait
          // A client that waits for an answer is not silent, however long its first picture takes.
          limit.update { $0 = nil }
          switch message {
          case .request(let request) where wait == nil: try await answer(request)
          case .request(let request): try await refuse(request, for: wait)
          case .packet(let number, let packet): session?.receive(packet, channel: number)
          }
          if wait != nil { try await Task.sleep(for: Self.pause) }
          let isStreamed = session?.isStreamed == true
          let silence = session == nil ? parts.idle : .seconds(Self.timeout)
          let allowed = isStreamed ? nil : silence
          lastReceived.update { $0 = CaptureClock.now }
          limit.update { $0 = allowed }
        }
      }
    } catch let error as RTSPError {
      try? await send(error.status, nil, [], error.reason)
    } catch {
      parts.logger.debug("RTSP connection ended", metadata: ["reason": "\(error)"])
    }
  }

  /// Counts a message with the HTTP requests from the client's address. Returns nil if it is allowed, else
  /// how many seconds the client has to wait.
  private var secondsToWait: Int? {
    let now = CaptureClock.now
    if session != nil, keptAliveAt.map({ now - $0 >= Self.keepsAliveEvery }) ?? true {
      keptAliveAt = now
      return nil
    }
    return parts.limiter.secondsToWait(client)
  }

  private func refuse(_ request: RTSPRequest, for seconds: Int?) async throws {
    try await send(503, request, [("Retry-After", "\(seconds ?? 1)")], "too many requests from this client")
  }

  /// Closes the connection when its client has been silent for too long.
  private static func watchdog(
    of channel: any Channel, _ lastReceived: Watched<CaptureInstant>, _ limit: Watched<Duration?>
  ) -> Task<Void, any Error> {
    Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(1))
        if let limit = limit.value, CaptureClock.now - lastReceived.value > limit {
          channel.close(promise: nil)
        }
      }
    }
  }

  // MARK: Requests

  private func answer(_ request: RTSPRequest) async throws {
    guard request.sequenceNumber != nil else {
      return try await send(400, request, [], "the request has no CSeq")
    }
    if let features = request.required { return try await send(551, request, [("Unsupported", features)]) }
    do {
      guard request.method != "OPTIONS" else {
        return try await send(200, request, [("Public", Self.methods)])
      }
      switch try check(request) {
      case .refused(let challenge, let isWrong):
        if isWrong { parts.logger.warning("wrong credentials", metadata: metadata(of: request)) }
        try await send(401, request, [("WWW-Authenticate", challenge)])
      case .allowed(let credential):
        try hold(credential)
        let secret = credential == .notRequired ? nil : credential.hashValue
        let client = RequestClient(address: client, secret: secret)
        try await RequestClient.$current.withValue(client) { try await admitted(request) }
      }
    } catch let error as RTSPError {
      try await send(error.status, request, [], error.reason)
    } catch let error as ChannelError {
      throw error
    } catch {
      let problem =
        Problem(error) ?? Problem(.internalServerError, "internal error: see the log of the service")
      if problem.status == .internalServerError {
        parts.logger.error("RTSP request failed", metadata: ["reason": "\(Redaction.message("\(error)"))"])
      }
      let status = [400, 401, 403, 404, 500, 501].contains(problem.status.code) ? problem.status.code : 503
      try await send(status, request, [], problem.detail)
    }
  }

  private func check(_ request: RTSPRequest) throws(Problem) -> RTSPAccess.Answer {
    do throws(Problem) { return try access.check(request) } catch {
      parts.logger.notice("too many wrong credentials", metadata: metadata(of: request))
      throw error
    }
  }

  /// The client and request that were refused, with the names of HTTP's log lines.
  private func metadata(of request: RTSPRequest) -> Logger.Metadata {
    let url = Redaction.source(RTSPTarget.withoutQuery(request.url))
    return ["client": "\(address)", "request": "\(request.method) \(url)"]
  }

  /// The connection ends when one of the client's credentials is revoked.
  private func hold(_ credential: Credential) throws(Problem) {
    guard !grants.contains(where: { $0.subject.credential == credential }) else { return }
    let channel = channel
    grants.append(try parts.access.grants.grant(credential, .read) { channel.reset() })
  }

  private func admitted(_ request: RTSPRequest) async throws {
    switch request.method {
    case "DESCRIBE": try await describe(request)
    case "SETUP": try await setUp(request)
    case "PLAY":
      guard let session = try known(request) else { return try await noSession(request) }
      guard !session.isPlaying else { return try await send(200, request, [sessionField(session)]) }
      let first = try await session.begin(try address(session.url))
      let time = session.firstTime(of: first)
      try await send(
        200, request,
        [
          sessionField(session), ("Range", "npt=now-"),
          ("RTP-Info", "url=\(session.url);seq=\(time.sequenceNumber);rtptime=\(time.time)"),
        ])
      session.play(from: first)
    case "GET_PARAMETER", "SET_PARAMETER":
      guard request.session == nil || request.session == session?.id else {
        return try await noSession(request)
      }
      guard request.method == "GET_PARAMETER" else { return try await send(451, request, []) }
      try await send(200, request, session.map { [sessionField($0)] } ?? [])
    case "TEARDOWN":
      guard let session = try known(request) else { return try await noSession(request) }
      session.end()
      self.session = nil
      try await send(200, request, [])
    case "PAUSE", "ANNOUNCE", "RECORD", "REDIRECT": try await send(405, request, [("Allow", Self.methods)])
    default: try await send(501, request, [("Public", Self.methods)])
    }
  }

  private func known(_ request: RTSPRequest) throws(RTSPError) -> RTSPSession? {
    guard let session, request.session == session.id else { return nil }
    return session
  }

  private func noSession(_ request: RTSPRequest) async throws { try await send(454, request, []) }

  private func sessionField(_ session: RTSPSession) -> (String, String) {
    ("Session", "\(session.id);timeout=\(Self.timeout)")
  }

  private func address(_ url: String) throws -> ViewAddress {
    let target = try RTSPTarget(url)
    return ViewAddress(view: target.view, camera: target.camera)
  }

  private func describe(_ request: RTSPRequest) async throws {
    let target = try await parts.directory.awaited(address(request.url))
    let stream = try parts.videos.begin(VideoRequest(target))
    let first = try await RTSPSession.first(of: stream, within: parts.firstPicture)
    let url = RTSPTarget.withoutQuery(request.url)
    let base = url.hasSuffix("/") ? url : url + "/"
    try await send(
      200, request, [("Content-Base", base), ("Content-Type", "application/sdp")],
      RTSPDescription.text(first.format, name: "\(target.camera)/\(target.name)"))
  }

  private func setUp(_ request: RTSPRequest) async throws {
    guard session == nil else { return try await send(459, request, []) }
    // Refuses a view that does not exist. The view is looked up again when it is played, which may be a
    // minute later.
    _ = try await parts.directory.awaited(address(request.url))
    guard let transport = request.fields["transport"].flatMap(RTSPTransport.init) else {
      return try await send(461, request, [], "RTP/AVP/TCP or RTP/AVP with client_port, unicast")
    }
    let permit = try parts.sessions.enter()
    let lastReceived = lastReceived
    let ports: RTSPPorts? =
      if case .datagrams = transport {
        try await RTSPPorts.open(channel) { lastReceived.update { $0 = CaptureClock.now } }
      } else { nil }
    let session = RTSPSession(parts, channel, transport, ports, url: request.url, holding: permit)
    self.session = session
    let words =
      switch transport {
      case .interleaved(let rtp, let rtcp): "RTP/AVP/TCP;unicast;interleaved=\(rtp)-\(rtcp)"
      case .datagrams(let rtp, let rtcp):
        "RTP/AVP;unicast;client_port=\(rtp)-\(rtcp);server_port=\(ports?.numbers ?? "")"
      }
    let source = String(session.ssrc, radix: 16)
    let padded = String(repeating: "0", count: 8 - source.count) + source
    try await send(200, request, [("Transport", "\(words);ssrc=\(padded)"), sessionField(session)])
  }

  // MARK: Answers

  private static let reasons = [
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 413: "Request Entity Too Large", 451: "Parameter Not Understood",
    454: "Session Not Found", 459: "Aggregate Operation Not Allowed", 461: "Unsupported Transport",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
    505: "RTSP Version Not Supported", 551: "Option not supported",
  ]

  private func send(
    _ status: Int, _ request: RTSPRequest?, _ fields: [(String, String)], _ body: String = ""
  ) async throws {
    var text = "RTSP/1.0 \(status) \(Self.reasons[status] ?? "Error")\r\n"
    if let number = request?.sequenceNumber { text += "CSeq: \(number)\r\n" }
    text += "Server: glpreview\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    if !body.isEmpty {
      if status != 200 { text += "Content-Type: text/plain\r\n" }
      text += "Content-Length: \(body.utf8.count)\r\n"
    }
    // While a client waits for an answer its silence is not counted: one that does not read ends here.
    let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(parts.stalled)) { [channel] in
      channel.close(promise: nil)
    }
    defer { deadline.cancel() }
    try await channel.writeAndFlush(ByteBuffer(string: text + "\r\n" + body))
  }
}
