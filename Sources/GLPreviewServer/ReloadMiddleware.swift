// Makes each reading request see a single configuration: if a reload removes what it depends on, it is run again.
internal import HTTPTypes
internal import Hummingbird

/// Repeats GET and HEAD requests that failed during a reload. Requests that change something use
/// `CameraRegistry.consistently` instead, because their body can't be read twice.
struct ReloadMiddleware: ServiceMiddleware {
  let registry: CameraRegistry

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    guard request.method == .get || request.method == .head else { return try await next(request, context) }
    return try await registry.consistently { try await next(request, context) }
  }
}
