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
  let videos: VideoRoutes
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
      let (target, request) = try registry.source(request)
      return try await snapshots.snapshot(target, .jpeg, request, context)
    }
    group.get("api/stream.mp4") { request, context in
      let (target, request) = try registry.source(request)
      return try await videos.mp4(target, request, context)
    }
    group.get("api/stream.mjpeg") { request, context in
      let (target, request) = try registry.source(request)
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

  // MARK: ustreamer's state

  private func state() throws(Problem) -> [String: JSONValue] {
    let target = try registry.view(nil, of: nil)
    let report = watch.report(of: target.camera)
    let hubs = registeredStreams.all.filter { $0.camera == target.camera && $0.view == target.name }
    let (size, view) = (hubs.compactMap(\.newest?.size).first, target.served.view)
    let width: Int = size?.width ?? view.width ?? report.mode?.size?.width ?? 0
    let height: Int = size?.height ?? view.height ?? report.mode?.size?.height ?? 0
    let isOnline = report.state == .live || report.state == .idle && report.isProven
    let wantedRate = target.served.framesPerSecond ?? report.mode?.framesPerSecond ?? 0
    var clients: [String: JSONValue] = [:]
    for subscription in hubs.flatMap(\.subscriptions) {
      clients["\(ObjectIdentifier(subscription).hashValue & 0xffff_ffff)-\(subscription.id)"] = [
        "fps": .integer(subscription.framesPerSecond.load(ordering: .relaxed)),
        "key": .string(subscription.key ?? ""), "extra_headers": false, "advance_headers": true,
        "dual_final_frames": false, "zero_data": false,
      ]
    }
    let source: JSONValue = [
      "resolution": ["width": .integer(width), "height": .integer(height)], "online": .bool(isOnline),
      "desired_fps": Self.whole(wantedRate), "captured_fps": Self.whole(report.framesPerSecond),
    ]
    let stream: JSONValue = [
      "queued_fps": Self.whole(hubs.map(\.framesPerSecond).max() ?? 0), "clients": .integer(clients.count),
      "clients_stat": .object(clients),
    ]
    let encoder: JSONValue = ["type": "CPU", "quality": .integer(target.served.encodedQuality)]
    return [
      "ok": true, "result": ["instance_id": "", "encoder": encoder, "source": source, "stream": stream],
    ]
  }

  /// A rounded rate; 0 for values that are not finite, since cameras may report anything.
  private static func whole(_ rate: Double) -> JSONValue { .integer(Int(exactly: rate.rounded()) ?? 0) }
}
