// Forwards requests to the node that has the camera, and its answers to the client.
internal import AsyncHTTPClient
internal import HTTPTypes
package import Hummingbird
internal import Logging
internal import NIOCore
package import NIOHTTP1
internal import ServiceLifecycle
internal import Synchronization

package final class PeerForwarder: Sendable {
  private let catalogue: PeerCatalogue
  private let requests: PeerRequests
  private let metrics: ServiceMetrics
  private let budget: MemoryBudget
  /// How long to wait for an answer.
  let limit: Duration
  private let logger: Logger
  /// Coalesces equal requests for snapshots. Nothing is cached, because only the camera's node knows which
  /// pictures are still fresh.
  private let pictures = SingleFlightCache<PictureKey, PeerPicture>(capacity: 0) { _ in 0 }
  /// Coalesces concurrent checks of one stream.
  private let refusals = SingleFlightCache<PictureKey, Refusal?>(capacity: 0) { _ in 0 }
  /// The error of each node's last request; none for nodes that answered it.
  private let failures = Mutex<[String: String]>([:])
  /// A limit of requests to each peer, so that a slow one does not hold up the others.
  private let gates = Mutex<[String: AdmissionLimit]>([:])

  /// The properties of a request that its answer depends on.
  private struct PictureKey: Hashable {
    let peer: String
    let target: String
    let role: Role
    let known: String?
  }

  private struct Refusal {
    let head: PeerAnswer
    let bytes: ByteBuffer
  }

  private static let largestPicture = 32 << 20
  /// The time that a node may take to encode an animation.
  private static let encoding = Duration.seconds(30)
  /// The time that a node may take to make a time-lapse: less than it may be silent (`peerSilence`).
  private static let silence = Duration.seconds(70)
  /// The header fields of a client's request that are forwarded.
  private static let fields: [HTTPField.Name] = [
    .accept, .contentType, .ifNoneMatch, .ifMatch, .range, .ifRange,
  ]

  init(
    _ catalogue: PeerCatalogue, counting metrics: ServiceMetrics,
    within budget: MemoryBudget,
    limit: Duration,
    logger: Logger
  ) {
    self.catalogue = catalogue
    requests = PeerRequests(catalogue: catalogue)
    self.metrics = metrics
    self.budget = budget
    self.limit = limit
    self.logger = logger
  }

  /// Returns the answer of a camera's node to a client's request.
  ///
  /// - Throws: `Problem`: 502 if the node does not answer, 504 if not in time, 503 and 429 if it has too many
  ///   requests; `CameraIsHere`.
  func forward(_ request: Request, _ context: ServiceContext, to route: PeerRoute) async throws -> Response {
    let call = try await call(request, context, to: route)
    let whole = Self.time(for: request, limit: limit)
    if isPicture(request) { return try await picture(call, context, route, within: whole) }
    let limit = context.rest(of: whole)
    let permit = try gate(of: route.url).enter()
    let (head, body) = try await send(call, route, within: limit)
    if call.method != .GET, call.method != .HEAD, head.result == .done { catalogue.requestPoll(route.url) }
    return Self.response(head, body, to: call, context, holding: permit)
  }

  /// How long a node may take to begin its answer: `limit`, or longer if the client's `timeout` requires it.
  /// An animation's head comes only when all of it is encoded, so the time until its end and for encoding is
  /// added; a time-lapse may take as long as a node may be silent, and a storyboard as long as its default timeout.
  static func time(for request: Request, limit: Duration) -> Duration {
    let query = request.uri.queryParameters
    let asked = query["timeout"].flatMap { Int($0) }.map { min(max($0, 0), 60_000) }
    let whole = asked.map { max(limit, .milliseconds($0) + .seconds(5)) } ?? limit
    let path = request.uri.path.lowercased()
    if path.hasSuffix("/timelapse.mp4") { return max(whole, silence) }
    if path.contains("/storyboard.") { return max(whole, .seconds(35)) }
    guard path.hasSuffix(".webp") else { return whole }
    let after = query["after"].flatMap { try? SnapshotMoment.duration(String($0), key: "after") } ?? .zero
    return whole + encoding + min(after, .seconds(600))
  }

  private static func response(
    _ head: PeerAnswer, _ body: HTTPClientResponse.Body, to call: PeerClient.Call, _ context: ServiceContext,
    holding permit: AdmissionPermit
  ) -> Response {
    guard call.method != .HEAD, head.status != .notModified, head.status != .noContent else {
      var headers = head.headers
      if call.method == .HEAD { headers[.contentLength] = head.contentLength.map(String.init) }
      return Response(status: head.status, headers: headers)
    }
    let channel = context.channel
    return Response(
      status: head.status, headers: head.headers,
      body: ResponseBody(contentLength: head.contentLength) { writer in
        for try await part in body {
          try await writer.write(part)
          try await channel.seesWrites()
        }
        try await writer.finish(nil)
        withExtendedLifetime(permit) {}
      })
  }

  /// Returns a node's answer to a request for a stream if it refuses the stream; nil if it streams.
  func refusal(of request: Request, _ context: ServiceContext, by route: PeerRoute) async throws -> Response?
  {
    let call = try await call(request, context, to: route)
    let key = PictureKey(peer: call.peer, target: call.target, role: call.role, known: nil)
    let gate = gate(of: route.url)
    let refusal = try await shared(context.rest(of: limit), route) { [self] in
      try await refusals.value(key, { try gate.enter() }) { [self] () -> Refusal? in
        let (head, body) = try await send(call, route, within: limit)
        // The body is not read to its end, so the connection is closed.
        guard head.status != .ok else { return nil }
        return Refusal(head: head, bytes: try await body.collect(upTo: 64 << 10))
      }
    }
    return refusal.map {
      Response(
        status: $0.head.status, headers: $0.head.headers, body: ResponseBody(byteBuffer: $0.bytes))
    }
  }

  /// Returns a node's answer to a WebRTC offer. Both are SDP.
  func answer(
    to offer: String, at target: String, _ context: ServiceContext, by route: PeerRoute
  ) async throws -> String {
    var call = PeerClient.Call(
      method: .POST, peer: route.url, target: target, role: context.role ?? .read)
    call.headers.add(name: "Content-Type", value: "application/sdp")
    call.body = ByteBuffer(string: offer)
    let permit = try gate(of: route.url).enter()
    defer { withExtendedLifetime(permit) {} }
    let (head, body) = try await send(call, route, within: limit)
    let text = String(buffer: try await body.collect(upTo: 64 << 10))
    guard head.status == .created else {
      throw Problem(head.status, "node '\(route.node)' rejected the offer: \(text.prefix(200))")
    }
    return text
  }

  /// The result of work that several requests share. Each request waits for the rest of its own time and one
  /// second more, so that the request that began the work still gets the error of the work.
  private func shared<Value: Sendable>(
    _ rest: Duration, _ route: PeerRoute, _ wait: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let value = try await withDeadline(rest + .seconds(1), wait) else {
      throw Problem(.gatewayTimeout, "node '\(route.node)' did not answer in time")
    }
    return value
  }

  // MARK: Requests to a node rather than a camera

  /// Forwards a client's request to a node, even if cameras move meanwhile.
  ///
  /// - Throws: `Problem`.
  package func pass(_ request: Request, _ context: ServiceContext, to peer: KnownPeer) async throws
    -> Response
  {
    let call = try await call(request, context, at: peer.url)
    let permit = try gate(of: peer.url).enter()
    let (head, body) = try await send(call, to: peer, within: Self.time(for: request, limit: limit))
    return Self.response(head, body, to: call, context, holding: permit)
  }

  /// Returns a node's answer, read to its end.
  ///
  /// - Throws: `Problem`.
  package func answer(
    to method: HTTPMethod, _ target: String, _ context: ServiceContext, of peer: KnownPeer,
    atMost size: Int
  ) async throws -> (HTTPResponse.Status, ByteBuffer) {
    let call = PeerClient.Call(
      method: method, peer: peer.url, target: target, role: context.role ?? .read)
    let permit = try gate(of: peer.url).enter()
    defer { withExtendedLifetime(permit) {} }
    let limit = min(limit, catalogue.timeouts.peerList)
    let answer = try await withDeadline(limit) { [self] in
      let (head, body) = try await send(call, to: peer, within: limit)
      return (head.status, try await body.collect(upTo: size))
    }
    guard let answer else { throw Problem(.gatewayTimeout, "node '\(peer.name)' did not answer in time") }
    return answer
  }

  private func send(
    _ call: PeerClient.Call, to peer: KnownPeer, within limit: Duration
  ) async throws -> (PeerAnswer, HTTPClientResponse.Body) {
    try await counted(peer.name) {
      try await catalogue.client.send(call, within: limit).map { ($0, peer.name) }
    }
  }

  // MARK: Requests

  private func gate(of peer: String) -> AdmissionLimit {
    gates.withLock { gates in
      if let known = gates[peer] { return known }
      let new = AdmissionLimit(capacity: 64, subject: "requests to this node")
      gates[peer] = new
      return new
    }
  }

  private func call(
    _ request: Request, _ context: ServiceContext, to route: PeerRoute
  ) async throws -> PeerClient.Call {
    if let outage = route.outage, !route.isFixed { throw Problem.peer(route.node, outage) }
    return try await call(request, context, at: route.url)
  }

  private func call(
    _ request: Request, _ context: ServiceContext, at url: String
  ) async throws -> PeerClient.Call {
    let path = request.uri.path
    guard path.hasPrefix("/") else { throw Problem(.badRequest, "a path must begin with '/'") }
    let query = request.uri.query ?? ""
    var call = PeerClient.Call(
      method: HTTPMethod(rawValue: request.method.rawValue), peer: url,
      target: query.isEmpty ? path : "\(path)?\(query)", role: context.role ?? .read)
    for field in Self.fields {
      if let value = request.headers[field] {
        call.headers.add(name: field.canonicalName, value: value)
      }
    }
    if request.method.changesSomething {
      call.body = try await request.body.collect(upTo: context.maxUploadSize)
    }
    return call
  }

  /// Sends a request, counts it, and waits for the head of its answer.
  private func send(
    _ call: PeerClient.Call, _ route: PeerRoute, within limit: Duration
  ) async throws -> (PeerAnswer, HTTPClientResponse.Body) {
    try await counted(route.node) {
      try await requests.send(call, to: route, within: limit).map { ($0.response, $0.route.node) }
    }
  }

  private func counted(
    _ node: String, _ send: () async throws -> (response: HTTPClientResponse, node: String)?
  ) async throws -> (PeerAnswer, HTTPClientResponse.Body) {
    do {
      guard let answer = try await send() else {
        metrics.count(.forwarded(.timeout))
        throw Problem(.gatewayTimeout, "node '\(node)' did not answer in time")
      }
      let head = try PeerAnswer(answer.response, from: answer.node)
      metrics.count(.forwarded(head.result))
      failures.withLock { $0[node] = nil }
      return (head, answer.response.body)
    } catch let error where error is CancellationError || error is CameraIsHere {
      throw error
    } catch let error as HTTPClientError where error == .invalidURL {
      throw Problem(.badRequest, "this URL can't be forwarded to another node")
    } catch {
      let problem = error as? Problem ?? broken(error, node)
      if problem.status != .gatewayTimeout { metrics.count(.forwarded(.failed)) }
      log(problem, of: node)
      throw problem
    }
  }

  /// Logs why a node does not answer. A reason is logged once until it changes or the node answers, because
  /// clients decide how often the node is asked.
  private func log(_ problem: Problem, of node: String) {
    guard [.badGateway, .gatewayTimeout].contains(problem.status) else { return }
    let last = failures.withLock { $0.updateValue(problem.detail, forKey: node) }
    guard last != problem.detail else { return }
    logger.warning("request not forwarded", metadata: ["reason": "\(problem.detail)"])
  }

  private func broken(_ error: any Error, _ node: String) -> Problem {
    logger.debug("request not forwarded", metadata: ["node": "\(node)", "error": "\(error)"])
    return .peer(node, PeerFailure(error).reason)
  }

  // MARK: Snapshots

  /// Whether the request is for a snapshot that equal requests can share. With `max_age`, each depends on its
  /// own time.
  private func isPicture(_ request: Request) -> Bool {
    let path = request.uri.path
    guard request.method == .get, request.uri.queryParameters["max_age"] == nil else { return false }
    return ["/api/frame.jpeg", "/snapshot"].contains(path)
      || [".jpg", ".jpeg", ".png"].contains { path.hasSuffix($0) }
  }

  private func picture(
    _ call: PeerClient.Call, _ context: ServiceContext, _ route: PeerRoute, within limit: Duration
  ) async throws -> Response {
    let key = PictureKey(
      peer: call.peer, target: call.target, role: call.role, known: call.headers.first(name: "If-None-Match"))
    let gate = gate(of: route.url)
    let picture = try await shared(context.rest(of: limit), route) { [self] in
      try await pictures.value(key, { try gate.enter() }) { [self] in
        try await collect(call, route, within: limit)
      }
    }
    let head = picture.head
    guard head.status != .notModified else { return Response(status: head.status, headers: head.headers) }
    return Response(
      status: head.status, headers: head.headers,
      body: ResponseBody(picture.bytes, holding: picture.lease, on: context.channel))
  }

  private func collect(
    _ call: PeerClient.Call, _ route: PeerRoute, within limit: Duration
  ) async throws -> PeerPicture {
    let (head, body) = try await send(call, route, within: limit)
    guard head.contentLength ?? 0 <= Self.largestPicture else {
      throw Problem.peer(route.node, "sent too much data")
    }
    do {
      // The rest of the body follows at once unless the node hangs.
      let bytes = try await withDeadline(limit) { try await body.collect(upTo: Self.largestPicture) }
      guard let bytes else { throw Problem(.gatewayTimeout, "node '\(route.node)' did not answer in time") }
      return PeerPicture(head: head, bytes: bytes, lease: try budget.reserve(bytes.readableBytes))
    } catch let error as Problem {
      throw error
    } catch let error as MemoryBudget.Exceeded {
      throw error
    } catch {
      throw broken(error, route.node)
    }
  }
}
