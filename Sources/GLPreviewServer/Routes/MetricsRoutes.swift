// Metrics over HTTP, and the counting of requests.
internal import CoreMetrics
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// `GET /metrics`.
struct MetricsRoutes: Sendable {
  let metrics: PrometheusMetrics

  func add(to router: some RouterMethods<ServiceContext>) {
    router.get("/metrics") { _, _ in
      var fields = HTTPFields()
      fields[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
      fields[.cacheControl] = "no-store"
      let body = ResponseBody(byteBuffer: ByteBuffer(string: await metrics.text()))
      return Response(status: .ok, headers: fields, body: body)
    }
  }
}

/// Counts requests by route, not by path, so that clients can't invent labels.
struct RequestCountMiddleware: ServiceMiddleware {
  private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

  let metrics: ServiceMetrics

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
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
    metrics.requests(method: method, route: context.endpointPath ?? "none", status: status.code).increment()
  }
}
