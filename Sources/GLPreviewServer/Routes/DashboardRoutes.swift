// The dashboard's page and files; also mjpg-streamer's URLs at `/`.
internal import HTTPTypes
internal import Hummingbird

struct DashboardRoutes: Sendable {
  /// Answers `/?action=...`; nil if there is no action.
  let action: @Sendable (Request, ServiceContext) async throws -> Response?

  func add(to group: RouterGroup<ServiceContext>) {
    for file in WebFile.all {
      group.get(RouterPath(file.path)) { request, context in
        if file.path == "/", let response = try await action(request, context) { return response }
        return file.response(to: request)
      }
    }
    group.get("favicon.ico") { _, _ in Response(status: .noContent) }
  }
}
