// Requests for cameras of other nodes. They are forwarded, or, for streams, served from one stream that this
// node reads from the camera's node.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Runs before the routes of cameras. Requests for this node's own cameras and for unknown names go on to
/// them.
struct PeerMiddleware: ServiceMiddleware {
  let catalogue: PeerCatalogue
  let forwarder: PeerForwarder
  let remoteViews: PeerStreams
  let streams: StreamRoutes
  let videos: VideoRoutes
  let sockets: WebSocketRoutes
  let borrowed: CompatibilityRoutes
  /// The epoch of the lease by which this node has a camera; nil without a lease.
  let epoch: @Sendable (_ camera: String) -> UInt64?

  /// RFC 5842.
  private static let loopDetected = HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected")

  private static let troubles: Set<HTTPResponse.Status> = [
    .badGateway, .gatewayTimeout, .serviceUnavailable, .tooManyRequests,
  ]

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    let isOther = !request.isFromPeer && catalogue.isShared
    var (request, context) = (request, context)
    if isOther { try borrowed.name(cameraOf: catalogue, &request, &context.rule) }
    guard let target = Target(request, context) else { return try await next(request, context) }
    if isOther, let session = target.session, await sockets.offers.has(session) {
      return try await next(request, context)
    }
    let arrived = CaptureClock.now
    if isOther {
      let limit = context.rest(of: forwarder.limit)
      try await context.whileClientStays { [self] in
        try await beforeShutdown { [self] in
          try await catalogue.awaitOwner(of: target.camera, within: limit)
        }
      }
    }
    let elsewhere = request.isFromPeer ? [PeerField.elsewhere: "1"] : [:]
    if request.isFromPeer, let asked = request.peerEpoch, let own = epoch(target.camera), asked > own {
      throw Problem(
        .conflict, "another node has acquired camera '\(target.camera)': retry",
        headers: elsewhere.merging(["Retry-After": "1"]) { $1 })
    }
    guard let route = catalogue.route(to: target.camera) else {
      guard catalogue.isExpected(target.camera) else {
        // The wait for an owner does not count against the camera's own time limit.
        context.startedAt = context.startedAt + (CaptureClock.now - arrived)
        return try await next(request, context)
      }
      throw Problem(
        .serviceUnavailable, "no node serves camera '\(target.camera)' at the moment",
        headers: elsewhere.merging(["Retry-After": "2"]) { $1 })
    }
    guard !request.isFromPeer else {
      throw Problem(
        Self.loopDetected, "node '\(route.node)' serves camera '\(target.camera)': send the request there",
        headers: elsewhere)
    }
    do {
      switch target.kind {
      case .jpegs:
        if let answer = try await pictures(target, request, context, route) { return answer }
        return try await next(request, context)
      case .video where request.method == .get && !VideoRoutes.isClip(request):
        return try await stream(target, as: .video, request, context, route)
      case .socket: return try await socket(target, request, context, route)
      case .request, .video, .offer:
        // The body can be read only once, and this node may have to handle the request if the camera moves
        // here.
        if request.method.changesSomething { _ = try await request.collectBody(upTo: context.maxUploadSize) }
        if target.kind == .offer, let answer = try await offer(target, request, context, route) {
          return answer
        }
        return try await context.whileClientStays { [request, context] in
          try await forwarder.forward(request, context, to: route)
        }
      }
    } catch is CameraIsHere {
      // The wait for the other node does not count against the camera's own time limit.
      context.startedAt = CaptureClock.now
      return try await next(request, context)
    }
  }

  /// Returns nil on 429, 502, 503 or 504 if the request is for `/api/stream`. That route then answers: it
  /// shows the error, or the view as it is served.
  private func pictures(
    _ target: Target, _ request: Request, _ context: ServiceContext, _ route: PeerRoute
  ) async throws -> Response? {
    do {
      let answer = try await stream(target, as: .jpegs, request, context, route)
      return target.isListed && Self.troubles.contains(answer.status) ? nil : answer
    } catch let problem as Problem where target.isListed && Self.troubles.contains(problem.status) {
      return nil
    }
  }

  private func stream(
    _ target: Target, as kind: StreamKind, _ request: Request, _ context: ServiceContext,
    _ route: PeerRoute
  ) async throws -> Response {
    let view = target.view ?? route.camera.views.first?.name ?? ""
    // The camera's node checks the URL's parameters and answers for them.
    let asked = kind == .jpegs ? target.asked(request) : request
    let address = request.address(of: view, target.camera, as: kind)
    if try !remoteViews.isAccepted(address, at: route),
      let refusal = try await context.whileClientStays({
        try await forwarder.refusal(of: asked, context, by: route)
      })
    {
      return refusal
    }
    let remoteView = try known(address)
    var context = context
    // The wait for the node does not count against the time for the first frame.
    context.startedAt = CaptureClock.now
    return switch kind {
    case .jpegs: try await streams.stream(remoteView, request, context)
    case .video: try await videos.mp4(remoteView, request, context)
    }
  }

  /// The view of a peer's camera whose parameters the peer has just accepted.
  ///
  /// - Throws: `Problem` 503 if the camera has moved meanwhile.
  private func known(_ address: ViewAddress) throws -> ServedPreview {
    var address = address
    address.isAccepted = true
    guard let remoteView = try remoteViews.view(address) else {
      throw Problem.busy(.serviceUnavailable, "the cameras of the nodes have just changed", retryAfter: 1)
    }
    return remoteView
  }

  /// This node's answer to a WebRTC offer, or to `OPTIONS`; nil if only the camera's node can answer.
  private func offer(
    _ target: Target, _ request: Request, _ context: ServiceContext, _ route: PeerRoute
  ) async throws -> Response? {
    guard let view = offeredView(target, route) else { return nil }
    if request.method == .options { return sockets.offers.options }
    guard request.method == .post, let remoteView = try await offered(view, context, route) else {
      return nil
    }
    return try await sockets.offers.answer(remoteView, request, context)
  }

  /// The view of a peer's camera that an offer is for; nil if there is none, or if this node has no WebRTC.
  private func offeredView(_ target: Target, _ route: PeerRoute) -> String? {
    guard sockets.offers.isAvailable else { return nil }
    return route.camera.views.first { target.view == nil || $0.name == target.view }?.name
  }

  /// The view that a WebRTC session of this node shows for a peer's view. Nil if the peer refuses the stream,
  /// as a node without an encoder does.
  private func offered(
    _ view: String, _ context: ServiceContext, _ route: PeerRoute
  ) async throws -> ServedPreview? {
    let query = "src=\(route.camera.name)/\(view)&\(StreamKind.frequentKeys)"
    let video = Request(
      head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/api/stream.mp4?\(query)"),
      body: RequestBody(buffer: ByteBuffer()))
    let address = video.address(of: view, route.camera.name, as: .video)
    if try !remoteViews.isAccepted(address, at: route) {
      let refusal = try await context.whileClientStays {
        try await forwarder.refusal(of: video, context, by: route)
      }
      guard refusal == nil else { return nil }
    }
    return try known(address)
  }

  /// Serves the socket here. Its stream is read from the camera's node.
  private func socket(
    _ target: Target, _ request: Request, _ context: ServiceContext, _ route: PeerRoute
  ) async throws -> Response {
    let view = target.view ?? route.camera.views.first?.name ?? ""
    let (camera, request) = (target.camera, request.without("src"))
    let source = ["src=\(camera)/\(view)", request.uri.query].compactMap(\.self).joined(separator: "&")
    // A node without an encoder may still have JPEGs.
    if try !remoteViews.isAccepted(request.address(of: view, camera, as: .video), at: route) {
      let video = request.at("/api/stream.mp4", with: source)
      let refusal = try await context.whileClientStays {
        try await forwarder.refusal(of: video, context, by: route)
      }
      if let refusal, refusal.status.kind == .clientError {
        return refusal
      }
    }
    let show = sockets.show(view, of: camera, request, isAccepted: true, context) { [self] offer in
      let route = catalogue.route(to: camera) ?? route
      if let view = offeredView(target, route), let remoteView = try await offered(view, context, route) {
        return try await sockets.offers.begin(remoteView, offer: offer, context)
      }
      return try await forwarder.answer(to: offer, at: "/api/webrtc?\(source)", context, by: route)
    }
    return try await sockets.response(show, to: request, context)
  }

  /// The camera, view and kind of a request.
  private struct Target {
    let camera: String
    /// The view of a stream; nil for the camera's first view.
    var view: String?
    var kind = RouteRule.Forwarding.request
    /// Whether the view is the only `view` parameter of `/api/stream`.
    var isListed = false
    /// The name of a WebRTC session; nil for other requests.
    var session: String?

    private static let suffixes: [String: RouteRule.Forwarding] = [
      "mjpeg": .jpegs, "mjpg": .jpegs, "mp4": .video,
    ]

    /// Nil if the request names no camera.
    init?(_ request: Request, _ context: ServiceContext) {
      if request.uri.path == "/api/stream" {
        guard let only = Self.onlyView(of: request) else { return nil }
        (camera, view, kind, isListed) = (only.camera, only.view, .jpegs, true)
        return
      }
      kind = context.rule.ofOtherNodes
      if context.rule.parameters != nil {
        let names = (request.uri.queryParameters["src"] ?? "").split(separator: "/", maxSplits: 1)
        guard let name = names.first else { return nil }
        camera = String(name)
        view = names.count > 1 ? String(names[1]) : nil
        return
      }
      guard let name = context.parameters.get("camera") else { return nil }
      camera = name
      guard let file = context.parameters.get("file") else { return }
      // Proxies in front of a node may take these for steps in its directory tree.
      guard file != "." && file != ".." else { return nil }
      if kind == .offer {
        view = file
        return
      }
      session = context.parameters.get("session")
      let parts = file.split(separator: ".", omittingEmptySubsequences: false)
      guard let suffix = parts.last?.lowercased(), parts.count > 1, let kind = Self.suffixes[suffix] else {
        return
      }
      (view, self.kind) = (parts.dropLast().joined(separator: "."), kind)
    }

    /// The view of `/api/stream` if it is the only one: it is then requested by its own URL. Nil for several
    /// views and for an invalid name.
    private static func onlyView(of request: Request) -> (camera: String, view: String)? {
      let names = request.uri.queryParameters.filter { $0.key == "view" }.map { String($0.value) }
      let parts = names.first?.split(separator: "/", maxSplits: 1).map(String.init) ?? []
      guard names.count == 1, parts.count == 2, !request.isFromPeer,
        parts.allSatisfy({ (try? ViewConfiguration.check(name: $0)) != nil })
      else { return nil }
      return (parts[0], parts[1])
    }

    /// The request that checks whether the node refuses the stream. `key`, the client's name for itself, is
    /// left out.
    func asked(_ request: Request) -> Request {
      let request = request.without("key")
      guard isListed, let view else { return request }
      return request.at("/cameras/\(camera)/\(view).mjpeg", with: request.without("view").uri.query ?? "")
    }
  }
}
