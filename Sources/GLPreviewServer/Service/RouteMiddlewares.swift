// The middlewares around the service's routes: they count requests, and let each read see one configuration.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

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
    metrics.count(.request(method: method, route: context.endpointPath ?? "none", status: status.code))
  }
}

/// Repeats GET and HEAD requests that failed during a reload, which may have removed objects that they use.
/// Requests that change something use `CameraRegistry.consistently` instead, because their body can't be read
/// twice.
struct ReloadMiddleware: ServiceMiddleware {
  let registry: CameraRegistry

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    guard request.method == .get || request.method == .head else { return try await next(request, context) }
    return try await registry.consistently { try await next(request, context) }
  }
}
