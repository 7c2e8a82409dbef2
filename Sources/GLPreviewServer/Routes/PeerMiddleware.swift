// Requests for cameras that another node has: forwarded to it, or, for streams, answered by one stream from it.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Stands before the routes of cameras. This node's own cameras go on to them, and so do names that nobody has.
struct PeerMiddleware: ServiceMiddleware {
  let catalogue: PeerCatalogue
  let forwarder: PeerForwarder
  let guests: PeerStreams
  let streams: StreamRoutes

  /// RFC 5842.
  private static let loopDetected = HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected")

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    guard let target = Target(request, context) else { return try await next(request, context) }
    guard let route = catalogue.route(to: target.camera) else {
      guard catalogue.isExpected(target.camera) else { return try await next(request, context) }
      throw Problem(
        .serviceUnavailable, "no node has camera '\(target.camera)' now", headers: ["Retry-After": "2"])
    }
    guard !request.isFromPeer else {
      throw Problem(Self.loopDetected, "camera '\(target.camera)' is of a third node: ask that one")
    }
    do {
      switch target.kind {
      case .stream: return try await stream(target, request, context, route)
      case .socket:
        throw Problem(
          .notImplemented, "WebSockets of other nodes' cameras are not forwarded: connect to '\(route.node)'")
      case .request:
        return try await context.whileClientStays { try await forwarder.forward(request, context, to: route) }
      }
    } catch is CameraIsHere {
      var context = context
      // What was waited for another node is not taken off the camera's own time.
      context.startedAt = CaptureClock.now
      return try await next(request, context)
    }
  }

  private func stream(
    _ target: Target, _ request: Request, _ context: ServiceContext, _ route: PeerRoute
  ) async throws -> Response {
    let view = target.view ?? route.camera.views.first?.name ?? ""
    // The node checks the words of the URL, and answers for them.
    if try !guests.isWatched(view, at: route, request),
      let refusal = try await context.whileClientStays({
        try await forwarder.refusal(of: request, context, by: route)
      })
    {
      return refusal
    }
    guard let guest = try guests.view(view, of: target.camera, request) else {
      throw Problem.busy(.serviceUnavailable, "the nodes' cameras have just changed", retryAfter: 1)
    }
    return try await streams.stream(guest: guest, request, context)
  }

  /// What a request is about.
  private struct Target {
    enum Kind { case request, stream, socket }

    let camera: String
    /// Of streams; nil for the first.
    var view: String?
    var kind = Kind.request

    private static let sources: [String: Kind] = [
      "/api/frame.jpeg": .request, "/api/stream.mp4": .request, "/api/webrtc": .request,
      "/api/stream.mjpeg": .stream, "/api/ws": .socket,
    ]

    /// Nil if the request names no camera.
    init?(_ request: Request, _ context: ServiceContext) {
      if let kind = Self.sources[request.uri.path] {
        let names = (request.uri.queryParameters["src"] ?? "").split(separator: "/", maxSplits: 1)
        guard let name = names.first else { return nil }
        (camera, self.kind) = (String(name), kind)
        view = names.count > 1 ? String(names[1]) : nil
        return
      }
      guard let name = context.parameters.get("camera") else { return nil }
      camera = name
      guard let file = context.parameters.get("file") else { return }
      // Proxies in front of a node may take these for steps in its tree.
      guard file != "." && file != ".." else { return nil }
      let parts = file.split(separator: ".", omittingEmptySubsequences: false)
      guard let kind = parts.last?.lowercased(), parts.count > 1, kind == "mjpeg" || kind == "mjpg" else {
        return
      }
      (view, self.kind) = (parts.dropLast().joined(separator: "."), .stream)
    }
  }
}
