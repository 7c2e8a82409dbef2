// `/cameras/{camera}/{view}.mjpeg`, and `/api/stream`, which sends several views over one connection.
internal import HTTPTypes
package import Hummingbird
internal import NIOCore

package struct StreamRoutes: Sendable {
  let registry: CameraRegistry
  let streams: StreamRegistry
  let directory: ViewDirectory

  private static let rate = QueryKey<Double>.number(
    "fps", in: 0.01...1000, "the maximum pictures per second")
  private static let key = QueryKey<String>.text(
    "key", "a name for the client, which `/state` and `/api/cameras` show")
  /// ustreamer's parameters. They are accepted, because parts already behave that way, or nothing is lost
  /// without them.
  private static let ignored = ["extra_headers", "advance_headers", "dual_final_frames", "zero_data"].map {
    QueryKey<String>.text($0, "accepted for ustreamer clients; has no effect")
  }
  private static let views = QueryKey<String>.text(
    "view", "a view as `CAMERA/VIEW`; it may be given up to 64 times"
  ).repeatable

  static let parts = RouteAnswer.bytes(
    "multipart/x-mixed-replace",
    purpose: "JPEGs, each with its time in `X-Timestamp`, until the client disconnects")

  static let query = QueryEntry.view + .of(QueryEntry.quality, rate, key) + ignored.map(\.entry)

  func add(to group: ServiceRoutes) {
    group.get(
      "api/stream", .unlinked,
      as: [
        .init(
          "streamViews", "Streams several views over one connection; each part names its view",
          query: Self.query + [Self.views.required.entry], answers: [Self.parts],
          problems: [.notFound, .conflict, .gatewayTimeout])
      ]
    ) { request, context in try await several(request, context) }
  }

  package func stream(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws
    -> Response
  {
    // A peer has already checked the parameters of its views.
    if target.remoteView == nil {
      var query = try QueryParameters(request)
      let (wanted, _, _) = try takeStream(from: &query, over: Self.base(of: target))
      try query.finish(known: Self.query)
      try await check(wanted, target)
    }
    let names = ["view", "src"]
    let request = names.reduce(request.withoutBody) { $0.without($1) }
    let joined = try goingOn(target, request, context) { target in
      var query = try QueryParameters(request)
      guard target.remoteView == nil else {
        return try join(target, as: target.served, every: .zero, key: query.take(Self.key), context)
      }
      let (wanted, interval, key) = try takeStream(from: &query, over: Self.base(of: target))
      return try join(target, as: wanted, every: interval, key: key, context)
    }
    return try await response(joined, of: target, context)
  }

  /// Returns the served view as the base for parameters. A scene shows several cameras, so it accepts none.
  private static func base(of target: ServedPreview) -> ServedView {
    var base = target.served
    if target.isScene { base.isLocked = true }
    return base
  }

  /// Joins a view, and prepares to continue at the next node of its camera.
  func goingOn(
    _ target: ServedPreview, _ request: Request, _ context: ServiceContext,
    _ join: @escaping @Sendable (ServedPreview) throws -> JoinedStream
  ) throws -> JoinedStream {
    let address = request.address(of: target.name, target.camera, as: .jpegs)
    var joined = try join(target)
    let client = RequestClient.current
    joined.next = {
      await RequestClient.$current.withValue(client) {
        // Nothing is written during the search, so that only this detects a client that disconnects.
        try? await context.whileClientStays {
          await directory.next(address) { try goingOn($0, request, context, join) }
        }
      }
    }
    return joined
  }

  /// Waits for the first picture.
  private func response(
    _ joined: JoinedStream, of target: ServedPreview, _ context: ServiceContext
  ) async throws -> Response {
    let limit = context.rest(of: registry.timeouts.firstPicture)
    do {
      let subscription = joined.subscription
      _ = try await beforeShutdown {
        try await subscription.hub.firstPart(since: subscription.since, within: limit)
      }
    } catch is StreamEnded {
      throw Problem.switchedOff(target)
    } catch is StreamTimeout {
      throw Problem(.gatewayTimeout, "no picture within \(limit.components.seconds) s")
    }
    return try response([joined], context)
  }

  /// Streams several views, named by `view=CAMERA/VIEW`, in one answer whose parts name their view. Other
  /// parameters apply to all views, except locked ones and scenes.
  private func several(_ request: Request, _ context: ServiceContext) async throws -> Response {
    var query = try QueryParameters(request)
    let names = query.takeAll(Self.views)
    guard !names.isEmpty else {
      throw Problem.badParameter("view", "give at least one view=CAMERA/VIEW")
    }
    guard names.count <= Self.mostViews else {
      throw Problem.badParameter(
        "view", "\(names.count) views; one stream may have at most \(Self.mostViews)")
    }
    // All views share the parameters; locked views and scenes ignore them.
    let all = query
    _ = try takeStream(from: &query, over: ServedView())
    try query.finish(known: Self.query + [Self.views.entry])
    var subscriptions: [JoinedStream] = []
    for name in names {
      let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw Problem.badParameter("view", "'\(name)' is not CAMERA/VIEW") }
      do {
        let target = try await directory.awaited(request.address(of: parts[1], parts[0], as: .jpegs))
        guard target.served.isEnabled else { continue }
        // A single view rejects parameters that it does not accept, as its own URL does. A peer's request is
        // treated as for several views.
        if target.remoteView == nil, names.count == 1, !request.isFromPeer {
          var rest = all
          _ = try takeStream(from: &rest, over: Self.base(of: target))
        }
        if target.remoteView == nil { try await check(asOneOfSeveral(target, all).wanted, target) }
        subscriptions.append(
          try goingOn(target, request.withoutBody, context) { try joinOneOfSeveral($0, all, context) })
      } catch let problem as Problem where problem.status == .conflict {
        // The view is switched off.
      }
    }
    // A dead connection is only detected by writing, so a stream needs at least one view.
    guard !subscriptions.isEmpty else { throw Problem(.conflict, "all of these views are switched off") }
    return try response(subscriptions, context)
  }

  private static let mostViews = 64

  /// Returns a view of several with the URL's parameters. Scenes and locked views keep their own settings.
  private func asOneOfSeveral(
    _ target: ServedPreview, _ query: QueryParameters
  ) throws -> (wanted: ServedView, interval: Duration) {
    let isAsItIs = target.isScene || target.served.isLocked
    var (base, rest) = (target.served, query)
    base.isLocked = false
    let (changed, interval, _) = try takeStream(from: &rest, over: base)
    return (isAsItIs ? target.served : changed, interval)
  }

  /// Joins one view of several. If too many views are being drawn for URLs, it is sent as it is served.
  private func joinOneOfSeveral(
    _ target: ServedPreview, _ query: QueryParameters, _ context: ServiceContext
  ) throws -> JoinedStream {
    guard target.remoteView == nil else {
      return try join(target, as: target.served, every: .zero, key: nil, context)
    }
    let (wanted, interval) = try asOneOfSeveral(target, query)
    do {
      return try join(target, as: wanted, every: interval, key: nil, context)
    } catch let problem as Problem
      where problem.status == .serviceUnavailable || problem.status == .tooManyRequests
    {
      return try join(target, as: target.served, every: interval, key: nil, context)
    }
  }

  private func join(
    _ target: ServedPreview, as wanted: ServedView, every interval: Duration, key: String?,
    _ context: ServiceContext
  ) throws -> JoinedStream {
    let subscription = try streams.join(target, as: wanted, every: interval)
    subscription.name(address: context.clientAddress, key: key)
    return JoinedStream(subscription: subscription, interval: interval)
  }

  /// Takes the view, the pace, and the name that the client gives itself.
  private func takeStream(from query: inout QueryParameters, over served: ServedView) throws -> (
    ServedView, Duration, String?
  ) {
    let fps = try query.take(Self.rate)
    let key = try query.take(Self.key)
    for key in Self.ignored { _ = try query.take(key) }
    let wanted = try query.takeView(over: served)
    return (wanted, fps.map { .seconds(1 / $0) } ?? .zero, key)
  }

  /// Rejects views that can't be drawn or are too large, before the stream begins.
  private func check(_ wanted: ServedView, _ target: ServedPreview) async throws {
    guard wanted.view != target.served.view else { return }
    try await registry.check(wanted.view, of: target)
  }

  /// Returns an answer whose body is written by the connection's `StreamConnection`.
  private func response(
    _ subscriptions: [JoinedStream], _ context: ServiceContext
  ) throws(Problem) -> Response {
    var headers: HTTPFields = [
      .contentType: "multipart/x-mixed-replace; boundary=\(StreamPart.boundary)",
      .cacheControl:
        "no-store, no-cache, must-revalidate, proxy-revalidate, pre-check=0, post-check=0, max-age=0",
      .expires: "Mon, 3 Jan 2000 12:34:56 GMT",
    ]
    headers[named: "Pragma"] = "no-cache"
    // Tells nginx not to buffer.
    headers[named: "X-Accel-Buffering"] = "no"
    let channel = try context.connection()
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
