// Events over HTTP, as browsers' EventSource reads them (HTML Standard, 9.2).
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// `GET /api/events`.
struct EventRoutes: Sendable {
  /// After how long a client that was cut off comes again, in milliseconds.
  private static let retry = 3000

  let log: EventLog
  /// How long nothing is sent at most: proxies and phones cut off what is silent.
  var keepAlive = Duration.seconds(15)

  func add(to router: some RouterMethods<ServiceContext>) {
    router.get("/api/events") { request, _ in try events(request) }
  }

  private func events(_ request: Request) throws -> Response {
    let types = try types(in: request)
    let subscription = try log.subscribe(
      after: request.headers[named: "Last-Event-ID"]
        ?? request.uri.queryParameters["last_event_id"].map(String.init), types: types)
    var fields = HTTPFields()
    fields[.contentType] = "text/event-stream"
    fields[.cacheControl] = "no-store"
    // nginx holds back what it is given, unless it is told not to.
    fields[named: "X-Accel-Buffering"] = "no"
    let body = ResponseBody { [keepAlive] writer in
      // Who has gone is noticed by the end of what he sends, not by the next write that fails.
      try await request.body.consumeWithInboundCloseHandler { _ in
        try await Self.tell(subscription, keepAlive, to: &writer)
      } onInboundClosed: {
        subscription.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: fields, body: body)
  }

  private static func tell(
    _ subscription: EventSubscription, _ keepAlive: Duration, to writer: inout any ResponseBodyWriter
  ) async throws {
    // At once, so that the client knows that it is heard.
    try await writer.write(ByteBuffer(string: "retry: \(retry)\n\n"))
    while true {
      switch await subscription.next(within: keepAlive) {
      case .event(let event): try await writer.write(event.text)
      // Without an id: the client's last one stays what it was.
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
      throw .badParameter("types", "types are some of \(ServerEvent.types.joined(separator: ","))")
    }
    return types
  }
}
