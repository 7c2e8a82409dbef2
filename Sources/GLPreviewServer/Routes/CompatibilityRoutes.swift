// The URLs of ustreamer, mjpg-streamer and go2rtc, for compatibility with their clients.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// Routes for other programs' clients. URLs that name no camera use the first one and its first view.
struct CompatibilityRoutes: Sendable {
  let registry: CameraRegistry
  let watch: CameraWatch
  let snapshots: SnapshotRoutes
  let streams: StreamRoutes
  let registeredStreams: StreamRegistry

  func add(to group: RouterGroup<ServiceContext>) {
    for path in ["snapshot", "snapshot.jpg"] as [RouterPath] {
      group.get(path) { request, context in
        try await snapshots.snapshot(registry.view(nil, of: nil), .jpeg, request, context)
      }
    }
    for path in ["stream", "stream.mjpg", "stream.mjpeg"] as [RouterPath] {
      group.get(path) { request, context in
        try await streams.stream(registry.view(nil, of: nil), request, context)
      }
    }
    group.get("state") { _, _ in try Response(json: state()) }
    group.get("api/frame.jpeg") { request, context in
      let (target, request) = try source(request)
      return try await snapshots.snapshot(target, .jpeg, request, context)
    }
    group.get("api/stream.mjpeg") { request, context in
      let (target, request) = try source(request)
      return try await streams.stream(target, request, context)
    }
  }

  /// mjpg-streamer's `/?action=snapshot` and `/?action=stream`, with `_N` for camera N from 0; nil for other actions.
  func action(_ request: Request, _ context: ServiceContext) async throws -> Response? {
    guard let action = request.uri.queryParameters["action"] else { return nil }
    let parts = action.split(separator: "_", maxSplits: 1)
    let number = parts.count == 2 ? Int(parts[1]) : 0
    let cameras = registry.cameras
    guard let number, cameras.indices.contains(number) else {
      throw Problem.badParameter(
        "action", "'\(action)' names no camera: there are \(cameras.count), counted from 0")
    }
    let target = try registry.view(nil, of: cameras[number].configuration.name)
    let request = request.without("action")
    switch parts.first {
    case "snapshot": return try await snapshots.snapshot(target, .jpeg, request, context)
    case "stream": return try await streams.stream(target, request, context)
    default: throw Problem.badParameter("action", "'\(action)' is neither snapshot nor stream")
    }
  }

  /// go2rtc's `src=CAMERA`, or `src=CAMERA/VIEW`.
  private func source(_ request: Request) throws(Problem) -> (ServedPreview, Request) {
    let names = (request.uri.queryParameters["src"] ?? "").split(separator: "/", maxSplits: 1).map(
      String.init)
    let target = try registry.view(names.count > 1 ? names[1] : nil, of: names.first)
    return (target, request.without("src"))
  }

  // MARK: ustreamer's state

  private func state() throws(Problem) -> StreamerState {
    let target = try registry.view(nil, of: nil)
    let report = watch.report(of: target.camera)
    let hubs = registeredStreams.all.filter { $0.camera == target.camera && $0.view == target.name }
    let size = hubs.compactMap(\.newest?.size).first
    var clients: [String: StreamerState.Client] = [:]
    for subscription in hubs.flatMap(\.subscriptions) {
      clients["\(ObjectIdentifier(subscription).hashValue & 0xffff_ffff)-\(subscription.id)"] =
        StreamerState.Client(
          fps: subscription.framesPerSecond.load(ordering: .relaxed), key: subscription.key ?? "")
    }
    let isOnline = report.state == .live || report.state == .idle && report.isProven
    return StreamerState(
      ok: true,
      result: StreamerState.Result(
        instanceID: "", encoder: StreamerState.Encoder(type: "CPU", quality: target.served.quality),
        source: StreamerState.Source(
          resolution: StreamerState.Resolution(
            width: size?.width ?? target.served.view.width ?? report.mode?.size?.width ?? 0,
            height: size?.height ?? target.served.view.height ?? report.mode?.size?.height ?? 0),
          online: isOnline,
          desiredFPS: Self.whole(target.served.framesPerSecond ?? report.mode?.framesPerSecond ?? 0),
          capturedFPS: Self.whole(report.framesPerSecond)),
        stream: StreamerState.Stream(
          queuedFPS: Self.whole(hubs.map(\.framesPerSecond).max() ?? 0), clients: clients.count,
          clientsStat: clients)))
  }

  /// A rounded rate; 0 for values that are not finite, since cameras may report anything.
  private static func whole(_ rate: Double) -> Int { Int(exactly: rate.rounded()) ?? 0 }
}

/// ustreamer's `/state`.
private struct StreamerState: Encodable {
  let ok: Bool
  let result: Result

  struct Result: Encodable {
    let instanceID: String
    let encoder: Encoder
    let source: Source
    let stream: Stream

    enum CodingKeys: String, CodingKey {
      case instanceID = "instance_id"
      case encoder, source, stream
    }
  }

  struct Encoder: Encodable {
    let type: String
    let quality: Int
  }

  struct Source: Encodable {
    let resolution: Resolution
    let online: Bool
    let desiredFPS: Int
    let capturedFPS: Int

    enum CodingKeys: String, CodingKey {
      case resolution, online
      case desiredFPS = "desired_fps"
      case capturedFPS = "captured_fps"
    }
  }

  struct Resolution: Encodable {
    let width: Int
    let height: Int
  }

  struct Stream: Encodable {
    let queuedFPS: Int
    let clients: Int
    let clientsStat: [String: Client]

    enum CodingKeys: String, CodingKey {
      case clients
      case queuedFPS = "queued_fps"
      case clientsStat = "clients_stat"
    }
  }

  struct Client: Encodable {
    let fps: Int
    let key: String
    let extraHeaders = false
    let advanceHeaders = true
    let dualFinalFrames = false
    let zeroData = false

    enum CodingKeys: String, CodingKey {
      case fps, key
      case extraHeaders = "extra_headers"
      case advanceHeaders = "advance_headers"
      case dualFinalFrames = "dual_final_frames"
      case zeroData = "zero_data"
    }
  }
}

extension Request {
  /// The request without one parameter.
  fileprivate func without(_ key: String) -> Request {
    let query = (uri.query ?? "").split(separator: "&").filter { $0 != key && !$0.hasPrefix("\(key)=") }
    var head = head
    head.path = query.isEmpty ? uri.path : "\(uri.path)?\(query.joined(separator: "&"))"
    return Request(head: head, body: body)
  }
}
