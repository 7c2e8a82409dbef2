// The dashboard's page and files, and mjpg-streamer's URLs at `/`.
internal import HTTPTypes
internal import Hummingbird

struct DashboardRoutes: Sendable {
  /// Answers `/?action=...`; nil if there is no action.
  let action: @Sendable (Request, ServiceContext) async throws -> Response?

  func add(to group: ServiceRoutes) {
    for file in WebFile.all {
      let isPage = file.path == "/"
      let rule = isPage ? RouteRule(access: .anyoneWithoutQuery, takesURLToken: true) : .open
      group.get(RouterPath(file.path), rule, as: []) { request, context in
        if isPage, let response = try await action(request, context) { return response }
        return file.response(to: request)
      }
    }
    group.get("favicon.ico", .open, as: []) { _, _ in Response(status: .noContent) }
  }
}
