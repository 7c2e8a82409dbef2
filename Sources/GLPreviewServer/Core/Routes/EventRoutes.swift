// Server-sent events for browsers' EventSource (HTML Standard, 9.2).
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// `GET /api/events`.
struct EventRoutes: Sendable {
  /// The delay before a disconnected client reconnects, in milliseconds.
  private static let retry = 3000

  let log: EventLog
  /// The longest silence, because proxies and phones close silent connections.
  var keepAlive = Duration.seconds(15)

  func add(to group: ServiceRoutes) {
    let types = ServerEvent.types.joined(separator: "|")
    group.get(
      "api/events",
      as: [
        .init(
          "readEvents", "Sends events as server-sent events",
          query: [
            .init(
              "types", .text(pattern: "^((\(types))(,(\(types)))*)?$"),
              "the types of events, separated by commas"),
            .init("last_event_id", .text, "the last event that the client received, as in `Last-Event-ID`"),
          ], answers: [.bytes("text/event-stream", purpose: "events until the client disconnects")])
      ]
    ) { request, _ in try events(request) }
  }

  private func events(_ request: Request) throws -> Response {
    // A peer gets only this node's own events; it gets all others from their own nodes.
    let filter = EventLog.Filter(types: try types(in: request), isOwnOnly: request.isFromPeer)
    let lastID =
      request.headers[named: "Last-Event-ID"] ?? request.uri.queryParameters["last_event_id"].map(String.init)
    let subscription = try log.subscribe(after: lastID, filter)
    var fields = HTTPFields()
    fields[.contentType] = "text/event-stream"
    fields[.cacheControl] = "no-store"
    // Tells nginx not to buffer.
    fields[named: "X-Accel-Buffering"] = "no"
    // Sent at once, so that the client knows that it is connected, and from which event on.
    let start = "retry: \(Self.retry)\n" + (lastID == nil ? "id: \(subscription.lastID)\n\n" : "\n")
    let body = ResponseBody { [keepAlive] writer in
      // A disconnected client is detected by the end of its input, instead of by a failing write later.
      try await request.body.consumeWithInboundCloseHandler { _ in
        try await writer.write(ByteBuffer(string: start))
        try await Self.send(subscription, keepAlive, to: &writer)
      } onInboundClosed: {
        subscription.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: fields, body: body)
  }

  private static func send(
    _ subscription: EventSubscription, _ keepAlive: Duration, to writer: inout any ResponseBodyWriter
  ) async throws {
    while true {
      switch await subscription.next(within: keepAlive) {
      case .event(let event): try await writer.write(event.text)
      // Without an ID, so that the client keeps its last one.
      case .lost(let count):
        try await writer.write(ByteBuffer(string: "event: lost\ndata: {\"events\":\(count)}\n\n"))
      case .nothing: try await writer.write(ByteBuffer(string: ": still here\n\n"))
      case .end: return
      }
    }
  }

  private func types(in request: Request) throws(Problem) -> Set<String>? {
    guard let text = request.uri.queryParameters["types"], !text.isEmpty else { return nil }
    let types = Set(text.split(separator: ",").map(String.init))
    guard types.isSubset(of: ServerEvent.types) else {
      throw .badParameter("types", "types must be among \(ServerEvent.types.joined(separator: ","))")
    }
    return types
  }
}
