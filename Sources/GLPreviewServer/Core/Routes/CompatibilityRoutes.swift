// The URLs of ustreamer, mjpg-streamer and go2rtc, for their clients.
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import Synchronization

/// Routes for clients of other programs. They accept `src=CAMERA` or `src=CAMERA/VIEW`; without it, they use
/// the first camera and its first view.
package struct CompatibilityRoutes: Sendable {
  let registry: CameraRegistry
  let watch: CameraWatch
  let snapshots: SnapshotRoutes
  let streams: StreamRoutes
  let videos: VideoRoutes
  let registeredStreams: StreamRegistry
  let renderer: RendererWatch

  private static let pictures = RouteRule(takesURLToken: true, parameters: known(SnapshotQuery.query))
  private static let jpegs = RouteRule(
    takesURLToken: true, parameters: known(StreamRoutes.query), ofOtherNodes: .jpegs)
  private static let files = RouteRule(
    takesURLToken: true, parameters: known(VideoRoutes.fileQuery + VideoRoutes.clipQuery),
    ofOtherNodes: .video)

  /// Returns the accepted parameters of a compatibility URL: those of `entries`, and other programs' names
  /// for them.
  static func known(_ entries: [QueryEntry]) -> Set<String> {
    Set(entries.names + ["w", "h", "q", "src", "action"])
  }

  /// Returns the accepted parameters of a URL with `action=`; nil without an action.
  static func keys(ofAction words: [Substring]) -> Set<String>? {
    let action = words.first { $0.hasPrefix("action=") }
    return action.flatMap { ($0.hasPrefix("action=stream") ? jpegs : pictures).parameters }
  }

  private static let snapshots = ["/snapshot", "/snapshot.jpg", "/api/frame.jpeg"]
  private static let streams = ["/stream", "/stream.mjpg", "/stream.mjpeg", "/api/stream.mjpeg"]

  func add(to group: ServiceRoutes) {
    for path in Self.snapshots {
      group.get(
        RouterPath(path), Self.pictures,
        as: [entry("getJPEG", at: path, SnapshotQuery.query, SnapshotRoutes.jpeg, .notModified)]
      ) { request, context in
        try await snapshot(request, context)
      }
    }
    for path in Self.streams {
      group.get(
        RouterPath(path), Self.jpegs,
        as: [entry("streamMJPEG", at: path, StreamRoutes.query, StreamRoutes.parts)]
      ) { request, context in
        try await stream(request, context)
      }
    }
    group.get(
      "state", RouteRule(parameters: ["src"]),
      as: [
        .init(
          "getState", "Returns the state of a camera, for ustreamer clients", query: [Self.source],
          answers: [.json(.object([]), "the state in ustreamer's format")])
      ]
    ) { request, _ in
      try Response(json: state(of: registry.source(request).0))
    }
    let video = RouteAnswer.bytes("video/mp4", purpose: "fragmented MP4, or a clip")
    group.get(
      "api/stream.mp4", Self.files,
      as: [entry("getMP4", at: "/api/stream.mp4", VideoRoutes.fileAndClipQuery, video)]
    ) { request, context in
      let (target, request) = try registry.source(request)
      return try await videos.mp4(target, request, context)
    }
  }

  package static let source = QueryEntry(
    "src", .text, "`CAMERA` or `CAMERA/VIEW`; by default the first camera and its first view")

  /// Returns the documentation of a compatibility URL that answers as the operation `name` does.
  private func entry(
    _ name: String, at path: String, _ query: [QueryEntry], _ answers: RouteAnswer...
  ) -> RouteEntry {
    let words = path.split { "/.".contains($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
    return RouteEntry(
      "\(name)At\(words.joined())", "For clients of other programs; other parameters are ignored",
      query: [Self.source] + query, answers: answers, problems: [.notImplemented])
  }

  private func snapshot(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (target, request) = try registry.source(request)
    return try await snapshots.snapshot(target, .jpeg, request, context)
  }

  private func stream(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (target, request) = try registry.source(request)
    return try await streams.stream(target, request, context)
  }

  /// Answers mjpg-streamer's `/?action=snapshot` and `/?action=stream`, with `_N` for camera N, counted from
  /// 0; nil without an action.
  package func action(_ request: Request, _ context: ServiceContext) async throws -> Response? {
    // A request that `name` has rewritten, for a peer's camera that has just moved to this node.
    if Self.snapshots.contains(request.uri.path) { return try await snapshot(request, context) }
    if Self.streams.contains(request.uri.path) { return try await stream(request, context) }
    guard let action = try Action(request) else { return nil }
    let cameras = registry.cameras
    guard cameras.indices.contains(action.number) else { throw action.namesNoCamera(of: cameras.count) }
    let named = request.without("action").adding("src=\(cameras[action.number].configuration.name)")
    return try await action.isStream ? stream(named, context) : snapshot(named, context)
  }

  /// The parsed value of `action`.
  private struct Action {
    let word: Substring
    let isStream: Bool
    let number: Int

    /// Nil if there is no action.
    ///
    /// - Throws: `Problem` 400.
    init?(_ request: Request) throws(Problem) {
      guard request.uri.path == "/", let word = request.uri.queryParameters["action"] else { return nil }
      let parts = word.split(separator: "_", maxSplits: 1)
      guard let kind = parts.first, ["snapshot", "stream"].contains(kind) else {
        throw Problem.badParameter("action", "'\(word)' is neither snapshot nor stream")
      }
      (self.word, isStream) = (word, kind == "stream")
      number = parts.count == 2 ? Int(parts[1]) ?? -1 : 0
    }

    func namesNoCamera(of count: Int) -> Problem {
      .badParameter("action", "no camera '\(word)': there are \(count), counted from 0")
    }
  }

  // MARK: Other nodes

  /// Adds a camera name to a request that refers to another node's camera without naming it: the first such
  /// camera if this node has none of its own, and those that `_N` counts after its own. Other requests are
  /// not changed.
  ///
  /// - Throws: `Problem` 400 for an action with a number beyond all cameras.
  package func name(
    cameraOf catalogue: PeerCatalogue, _ request: inout Request, _ rule: inout RouteRule
  ) throws(Problem) {
    let action = try Action(request)
    let names = rule.parameters != nil
    guard action != nil || names && request.uri.queryParameters["src"] == nil else { return }
    let own = registry.cameras.count
    let number = action?.number ?? 0
    guard !(0..<own).contains(number) else { return }
    let others = catalogue.cameras.filter { $0.camera.members["kind"] != "scene" }
    guard number >= own, others.indices.contains(number - own) else {
      if let action { throw action.namesNoCamera(of: own + others.count) }
      return
    }
    request = request.without("action").adding("src=\(others[number - own].camera.name)")
    guard let action else { return }
    let path = action.isStream ? "/api/stream.mjpeg" : "/api/frame.jpeg"
    (request, rule) = (
      request.at(path, with: request.uri.query ?? ""), action.isStream ? Self.jpegs : Self.pictures
    )
  }

  // MARK: ustreamer's state

  private func state(of target: ServedPreview) -> [String: JSONValue] {
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
    let coder = hubs.compactMap(\.newest?.encoder).first
    // Without a stream, what would code one. A CPU that draws in place of the GPU also codes.
    var usual = "CPU"
    if case .works(let device) = renderer.state, device.jpegProcessor == .gpu { usual = "M2M-IMAGE" }
    let encoder: JSONValue = [
      "type": .string(coder ?? usual), "quality": .integer(target.served.encodedQuality),
    ]
    return [
      "ok": true, "result": ["instance_id": "", "encoder": encoder, "source": source, "stream": stream],
    ]
  }

  /// Rounds a rate; 0 for values that are not finite, since cameras may report anything.
  private static func whole(_ rate: Double) -> JSONValue { .integer(Int(exactly: rate.rounded()) ?? 0) }
}
