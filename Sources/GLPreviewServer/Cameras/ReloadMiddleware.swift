// A request that only reads sees one configuration: where a reload takes away what it was answered from, it is done again.
internal import HTTPTypes
internal import Hummingbird

/// Answers GET and HEAD again where that failed beside a reload. What changes something looks after itself
/// (`CameraRegistry.consistently`): its body can't be read twice.
struct ReloadMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let registry: CameraRegistry

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    guard request.method == .get || request.method == .head else { return try await next(request, context) }
    return try await registry.consistently { try await next(request, context) }
  }
}
