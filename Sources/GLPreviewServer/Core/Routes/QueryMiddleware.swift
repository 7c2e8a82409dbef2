// The parameters of a URL, before a route compares or reads them, or another node gets them.
internal import Hummingbird
internal import HummingbirdCore

/// Leaves out what means nothing: cache busters, and what a URL of other servers has that is not known here. So equal requests share one
/// picture, and a mistyped parameter of a URL of ours is still refused.
struct QueryMiddleware: ServiceMiddleware {
  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    try await next(Self.meaningful(request, context.rule.parameters), context)
  }

  /// `known` are the parameters of a URL of other servers.
  static func meaningful(_ request: Request, _ known: Set<String>?) -> Request {
    guard let query = request.uri.query, !query.isEmpty else { return request }
    var words = CacheBuster.removed(from: query)
    if let known = known ?? (request.uri.path == "/" ? CompatibilityRoutes.keys(ofAction: words) : nil) {
      words.removeAll { !known.contains(String($0.prefix { $0 != "=" })) }
    }
    let left = words.joined(separator: "&")
    guard left != query, let path = request.head.path?.prefix(while: { $0 != "?" }) else { return request }
    return request.at(String(path), with: left)
  }
}
