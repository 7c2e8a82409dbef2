// `/cameras/{camera}/{view}.mjpeg`, and `/api/stream`, which sends several views over one connection.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

struct StreamRoutes: Sendable {
  let registry: CameraRegistry
  let streams: StreamRegistry
  /// Views of other nodes' cameras, with a request's words; nil for this node's own.
  var guests: @Sendable (_ view: String, _ camera: String, Request) throws -> ServedPreview? = { _, _, _ in
    nil
  }

  /// Whether a camera moves between nodes.
  var moves: @Sendable (_ camera: String) -> Bool = { _ in false }

  static let keys =
    ViewConfiguration.keys + [
      "quality", "fps", "key", "extra_headers", "advance_headers", "dual_final_frames", "zero_data",
    ]

  func add(to group: ServiceRoutes) {
    group.get("api/stream", .pictures) { request, context in try await several(request, context) }
  }

  func stream(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response
  {
    var words = try QueryWords(request)
    // A scene shows several cameras and has no parameters of its own.
    var base = target.served
    if target.isScene { base.isLocked = true }
    let (wanted, interval, key) = try takeStream(from: &words, over: base)
    try words.finish(known: Self.keys)
    try await check(wanted, target)
    let subscription = try streams.join(target, as: wanted, every: interval)
    subscription.name(address: context.clientAddress, key: key)
    let joined = JoinedStream(
      subscription: subscription, interval: interval, rejoin: rejoin(target, request, interval))
    return try await response(joined, of: target, context)
  }

  /// What a stream goes on with when its camera has moved to another node, or from there to this one.
  private func rejoin(_ target: ServedPreview, _ request: Request, _ interval: Duration)
    -> StreamWatcher.Rejoin?
  {
    let (camera, view) = (target.camera, target.name)
    guard moves(camera) else { return nil }
    // The words of the URL; those that name the view stand for themselves.
    let request = Request(head: request.head, body: RequestBody(buffer: ByteBuffer()))
    return { [registry, streams, guests] in
      if let guest = try? guests(view, camera, request) {
        return try? streams.join(guest, as: guest.served, every: .zero)
      }
      guard let now = try? registry.view(view, of: camera), now.served.isEnabled,
        var words = try? QueryWords(request)
      else { return nil }
      for name in ["view", "src"] { _ = words.takeAll(name) }
      var base = now.served
      if now.isScene { base.isLocked = true }
      guard let (wanted, _, _) = try? takeStream(from: &words, over: base) else { return nil }
      return try? streams.join(now, as: wanted, every: interval)
    }
  }

  /// A view of another node's camera, which has taken the words of the URL.
  func stream(guest target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws
    -> Response
  {
    let key = request.uri.queryParameters["key"].map(String.init)
    let subscription = try join(guest: target, key: key, context)
    let joined = JoinedStream(subscription: subscription, rejoin: rejoin(target, request, .zero))
    return try await response(joined, of: target, context)
  }

  /// Waits for the first picture.
  private func response(
    _ joined: JoinedStream, of target: ServedPreview, _ context: ServiceContext
  ) async throws -> Response {
    let limit = context.rest(of: registry.patience.firstPicture)
    do {
      let subscription = joined.subscription
      _ = try await beforeShutdown {
        try await subscription.hub.firstPart(since: subscription.since, within: limit)
      }
    } catch is StreamEnded {
      throw Problem.switchedOff(target)
    } catch is StreamTimeout {
      throw Problem(.gatewayTimeout, "no picture came within \(limit.components.seconds) s")
    }
    return response([joined], context)
  }

  /// Several views, named by `view=CAMERA/VIEW`, in one stream whose parts name their view. Other parameters apply to
  /// all views, except locked ones and scenes.
  private func several(_ request: Request, _ context: ServiceContext) async throws -> Response {
    var words = try QueryWords(request)
    let names = words.takeAll("view")
    guard !names.isEmpty else {
      throw Problem.badParameter("view", "give at least one view=CAMERA/VIEW")
    }
    guard names.count <= Self.mostViews else {
      throw Problem.badParameter("view", "\(names.count) views; one stream has at most \(Self.mostViews)")
    }
    // The same for all views; locked ones and scenes have no use for them.
    var rest = words
    _ = try takeStream(from: &rest, over: ServedView())
    try rest.finish(known: Self.keys + ["view"])
    var subscriptions: [JoinedStream] = []
    for name in names {
      let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw Problem.badParameter("view", "'\(name)' is not CAMERA/VIEW") }
      do {
        if let guest = try guests(parts[1], parts[0], request) {
          subscriptions.append(JoinedStream(subscription: try join(guest: guest, key: nil, context)))
          continue
        }
      } catch let problem as Problem where problem.status == .conflict {
        // It is switched off.
        continue
      }
      let target = try registry.view(parts[1], of: parts[0])
      guard target.served.isEnabled else { continue }
      // Alone it is refused what it does not take, as by its own URL. Another node asks as for one of several.
      if names.count == 1, !request.isFromPeer {
        var (rest, base) = (words, target.served)
        base.isLocked = base.isLocked || target.isScene
        _ = try takeStream(from: &rest, over: base)
      }
      subscriptions.append(try await oneOfSeveral(target, words, context))
    }
    // A connection that nothing is ever written to would never be detected as dead.
    guard !subscriptions.isEmpty else { throw Problem(.conflict, "all of these views are switched off") }
    return response(subscriptions, context)
  }

  private static let mostViews = 64

  private func oneOfSeveral(
    _ target: ServedPreview, _ words: QueryWords, _ context: ServiceContext
  ) async throws -> JoinedStream {
    // Scenes and locked views keep their own size, whatever the URL requests for the others.
    let isAsItIs = target.isScene || target.served.isLocked
    var base = target.served
    base.isLocked = false
    var rest = words
    let (changed, interval, _) = try takeStream(from: &rest, over: base)
    let wanted = isAsItIs ? target.served : changed
    try await check(wanted, target)
    let subscription = try joinOneOfSeveral(target, as: wanted, every: interval)
    subscription.name(address: context.clientAddress, key: nil)
    return JoinedStream(subscription: subscription, interval: interval)
  }

  private func join(guest target: ServedPreview, key: String?, _ context: ServiceContext) throws
    -> StreamSubscription
  {
    let subscription = try streams.join(target, as: target.served, every: .zero)
    subscription.name(address: context.clientAddress, key: key)
    return subscription
  }

  /// If too many views are drawn for URLs already, the view is sent as it is served.
  private func joinOneOfSeveral(
    _ target: ServedPreview, as wanted: ServedView, every interval: Duration
  ) throws -> StreamSubscription {
    do {
      return try streams.join(target, as: wanted, every: interval)
    } catch let problem as Problem
      where problem.status == .serviceUnavailable || problem.status == .tooManyRequests
    {
      return try streams.join(target, as: target.served, every: interval)
    }
  }

  /// The view, the pace, and the client's name for itself.
  private func takeStream(from words: inout QueryWords, over served: ServedView) throws -> (
    ServedView, Duration, String?
  ) {
    let fps = try words.takeNumber("fps", in: 0.01...1000)
    // ustreamer's parameters: accepted, because parts already behave so, or because nothing is lost without them.
    let key = words.take("key")
    for name in ["extra_headers", "advance_headers", "dual_final_frames", "zero_data"] {
      _ = words.take(name)
    }
    let wanted = try words.takeView(over: served)
    return (wanted, fps.map { .seconds(1 / $0) } ?? .zero, key)
  }

  /// Rejects views that can't be drawn or are too large, before the stream begins.
  private func check(_ wanted: ServedView, _ target: ServedPreview) async throws {
    guard wanted.view != target.served.view else { return }
    try await registry.check(wanted.view, of: target)
  }

  /// An answer whose body the stream connection then writes itself.
  private func response(
    _ subscriptions: [JoinedStream], _ context: ServiceContext
  ) -> Response {
    var headers: HTTPFields = [
      .contentType: "multipart/x-mixed-replace; boundary=\(StreamPart.boundary)",
      .cacheControl:
        "no-store, no-cache, must-revalidate, proxy-revalidate, pre-check=0, post-check=0, max-age=0",
      .expires: "Mon, 3 Jan 2000 12:34:56 GMT",
    ]
    headers[named: "Pragma"] = "no-cache"
    // Tells nginx not to buffer.
    headers[named: "X-Accel-Buffering"] = "no"
    let channel = context.channel
    return Response(
      status: .ok, headers: headers,
      body: ResponseBody { writer in
        let finished = channel.eventLoop.makePromise(of: Void.self)
        channel.eventLoop.execute {
          do {
            try channel.pipeline.syncOperations.handler(type: StreamConnection.self)
              .begin(subscriptions, finished: finished)
          } catch {
            finished.fail(error)
          }
        }
        try await finished.futureResult.get()
        try await writer.finish(nil)
      })
  }
}
