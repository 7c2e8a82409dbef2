// `/` and the page's files; and at `/`, what mjpg-streamer's clients ask for there.
internal import HTTPTypes
internal import Hummingbird

/// The dashboard.
struct DashboardRoutes: Sendable {
  /// What `/?action=...` is answered with; nil where nothing is asked for.
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
