// Filters the parameters of a URL before a route reads them or another node receives them.
internal import Hummingbird
internal import HummingbirdCore

/// Removes parameters without effect: cache busters, and unknown parameters of compatibility URLs. Thus equal
/// requests share a picture, and mistyped parameters of the service's own URLs are still rejected.
struct QueryMiddleware: ServiceMiddleware {
  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    try await next(Self.meaningful(request, context.rule.parameters), context)
  }

  /// Returns the request without such parameters. `known` are the accepted parameters of a compatibility URL;
  /// nil for other URLs.
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
