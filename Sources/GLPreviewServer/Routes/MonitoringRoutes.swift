// What supervisors and monitoring ask. `/healthz`: the process responds. `/readyz`: a renderer works, and every required
// camera delivers pictures. `/metrics`: the counters, of requests too.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Routes for supervisors and load balancers.
struct HealthRoutes: Sendable {
  let watch: CameraWatch
  let renderer: RendererWatch

  func add(to group: RouterGroup<ServiceContext>) {
    for path in ["healthz", "health"] as [RouterPath] {
      group.get(path) { _, _ in try Response(json: Health(status: "ok", failing: [], renderer: nil)) }
    }
    group.get("readyz") { _, _ in
      let failing = watch.failing.map { Failing(camera: $0.camera, reason: $0.why) }
      let renderer = renderer.state.failure
      guard failing.isEmpty, renderer == nil else {
        return try Response(
          status: .serviceUnavailable, headers: [.retryAfter: "1"],
          json: Health(status: "not ready", failing: failing, renderer: renderer))
      }
      return try Response(json: Health(status: "ready", failing: [], renderer: nil))
    }
  }
}

private struct Health: Encodable {
  let status: String
  let failing: [Failing]
  /// Why no renderer works.
  let renderer: String?
}

private struct Failing: Encodable {
  let camera: String
  let reason: String
}

/// `GET /metrics`.
struct MetricsRoutes: Sendable {
  let families: @Sendable () -> [MetricFamily]

  func add(to router: some RouterMethods<ServiceContext>) {
    router.get("/metrics") { _, _ in
      Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: MetricFamily.text(of: families()))))
    }
  }
}

/// Counts requests by route, not by path, so that clients can't invent labels.
struct RequestCountMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

  let metrics: ServiceMetrics

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    do {
      let response = try await next(request, context)
      count(request, context, response.status)
      return response
    } catch {
      count(request, context, (error as? any HTTPResponseError)?.status ?? .internalServerError)
      throw error
    }
  }

  private func count(_ request: Request, _ context: ServiceContext, _ status: HTTPResponse.Status) {
    let method = Self.methods.contains(request.method) ? request.method.rawValue : "other"
    metrics.count(.request(method: method, route: context.endpointPath ?? "none", status: status.code))
  }
}
