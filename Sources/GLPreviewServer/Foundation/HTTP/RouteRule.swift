// The rules of routes, and the functions that add routes with their rules.
internal import HTTPTypes
package import Hummingbird
package import HummingbirdCore
internal import Synchronization

/// The rule of a route. By default, a request needs a role, has a JSON body, and must not have a token in its
/// URL.
package struct RouteRule: Sendable {
  /// The clients that may send a request; nil means role `read` for GET, HEAD and OPTIONS, and `control` for
  /// other methods.
  package var access: Access?
  /// Whether GET accepts a token in the URL. Only URLs of pictures, streams and recordings do, because they
  /// get shared.
  package var takesURLToken = false
  /// Whether GET accepts a signed link. Only URLs whose path names one camera do, and none of recordings.
  package var takesLink = false
  /// Whether a link must say which event it shows (`LinkedPath.needs`).
  package var linkNeedsEvent = false
  /// The content types of bodies that are accepted besides JSON.
  package var bodyTypes: [String] = []
  /// The parameters of a URL for clients of other programs. Such clients may send more parameters, which are
  /// removed. Nil: unknown parameters are rejected.
  package var parameters: Set<String>?
  /// How this node answers requests for a camera of another node.
  package var ofOtherNodes = Forwarding.request

  package init(
    access: Access? = nil, takesURLToken: Bool = false, takesLink: Bool = false, linkNeedsEvent: Bool = false,
    bodyTypes: [String] = [],
    parameters: Set<String>? = nil, ofOtherNodes: Forwarding = Forwarding.request
  ) {
    (self.takesLink, self.linkNeedsEvent) = (takesLink, linkNeedsEvent)
    (self.access, self.takesURLToken, self.bodyTypes, self.parameters, self.ofOtherNodes) = (
      access, takesURLToken, bodyTypes, parameters, ofOtherNodes
    )
  }

  package enum Access: Sendable {
    /// Anyone, because the answer shows nothing of a camera.
    case anyone
    /// Anyone, unless the URL has a query, which may request a picture.
    case anyoneWithoutQuery
    /// Clients with this role or a higher one.
    case role(Role)
  }

  /// Returns the role that a request needs; nil if it needs none, or if that depends on its URL.
  package func role(for method: HTTPRequest.Method) -> Role? {
    switch access {
    case .anyone, .anyoneWithoutQuery: nil
    case .role(let role): role
    case nil: method.changesSomething ? .control : .read
    }
  }

  package enum Forwarding: Sendable {
    /// Forwards each request.
    case request
    /// Answers all clients from one JPEG or video stream from that node.
    case jpegs, video
    /// Answers from such streams over a WebSocket.
    case socket
    /// Opens a WebRTC session on this node, with one stream from that node.
    case offer
  }

  package static let open = RouteRule(access: .anyone)
  /// Pictures and streams of one camera.
  package static let pictures = RouteRule(takesURLToken: true, takesLink: true)
  /// Streams of several cameras, and recordings.
  package static let unlinked = RouteRule(takesURLToken: true)
}

extension HTTPRequest.Method {
  /// Whether requests with this method may change something.
  package var changesSomething: Bool { self != .get && self != .head && self != .options }
}

/// Adds routes, each with its rule, which middlewares find in the context.
package struct ServiceRoutes {
  private let group: RouterGroup<ServiceContext>
  package let rules: RouteRules

  package typealias Handler = @Sendable (Request, ServiceContext) async throws -> Response

  /// Creates routes of `router`. Middlewares that are added to it from now on find the rule of a request's
  /// route.
  package init(_ router: Router<ServiceContext>) {
    (rules, group) = (RouteRules(), router.group(""))
    router.add(middleware: RuleMiddleware(rules: rules))
  }

  /// Adds a middleware to the routes that are added later.
  package func add(middleware: any MiddlewareProtocol<Request, Response, ServiceContext>) {
    group.add(middleware: middleware)
  }

  package func get(
    _ path: RouterPath, _ rule: RouteRule = RouteRule(), as entries: [RouteEntry],
    use handler: @escaping Handler
  ) {
    on(path, method: .get, rule, as: entries, use: handler)
  }

  package func post(
    _ path: RouterPath, _ rule: RouteRule = RouteRule(), as entries: [RouteEntry],
    use handler: @escaping Handler
  ) {
    on(path, method: .post, rule, as: entries, use: handler)
  }

  package func patch(
    _ path: RouterPath, _ rule: RouteRule = RouteRule(), as entries: [RouteEntry],
    use handler: @escaping Handler
  ) {
    on(path, method: .patch, rule, as: entries, use: handler)
  }

  package func delete(
    _ path: RouterPath, _ rule: RouteRule = RouteRule(), as entries: [RouteEntry],
    use handler: @escaping Handler
  ) {
    on(path, method: .delete, rule, as: entries, use: handler)
  }

  package func on(
    _ path: RouterPath, method: HTTPRequest.Method, _ rule: RouteRule = RouteRule(), as entries: [RouteEntry],
    use handler: @escaping Handler
  ) {
    rules.all.withLock { rules in
      rules.byPath[path.description, default: [:]][method] = rule
      rules.described += entries.map { DescribedRoute(path.description, method, rule, $0) }
    }
    group.on(path, method: method, use: handler)
  }
}

/// The rules of all routes, by path and method, and their documentation.
package final class RouteRules: Sendable {
  fileprivate struct All {
    var byPath: [String: [HTTPRequest.Method: RouteRule]] = [:]
    var described: [DescribedRoute] = []
  }

  fileprivate let all = Mutex(All())

  var described: [DescribedRoute] { all.withLock { $0.described } }
}

/// Stores the rule of the request's route in the context.
private struct RuleMiddleware: ServiceMiddleware {
  let rules: RouteRules

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    var context = context
    let method = request.method == .head ? .get : request.method
    if let path = context.endpointPath, let rule = rules.all.withLock({ $0.byPath[path]?[method] }) {
      context.rule = rule
    }
    return try await next(request, context)
  }
}
