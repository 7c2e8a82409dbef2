// All middlewares that a request passes before a route, in their required order.
internal import Hummingbird

/// The middlewares of a service.
struct AccessMiddlewares: Sendable {
  let control: AccessControl
  let host: HostRule
  let limiter: RateLimiter
  let maximumBytes: Int
  let isSecure: Bool

  /// Creates the middlewares for `configuration`; `control` can be updated later.
  init(_ configuration: ServerConfiguration, control: AccessControl) {
    self.control = control
    host = HostRule(configuration.bind)
    limiter = RateLimiter(requestsPerSecond: configuration.limits.requestsPerSecond)
    maximumBytes = configuration.limits.requestBytes
    isSecure = configuration.tls != nil
  }

  /// Adds the middlewares and the login routes. Routes added later are behind them.
  func add(to router: Router<ServiceContext>) {
    // Outermost: middlewares that add fields to every answer, including refusals, which are made from errors just
    // inside.
    router.add(middleware: SecurityHeadersMiddleware(isSecure: isSecure))
    router.add(middleware: CrossOriginMiddleware(control: control))
    router.add(middleware: ProblemMiddleware())
    // Cheapest first. Rate limits count an attempt to guess a secret before the secret is checked.
    router.add(middleware: RateLimitMiddleware(limiter: limiter))
    router.add(middleware: HostMiddleware(control: control, rule: host))
    router.add(middleware: BodyMiddleware(maximumBytes: maximumBytes))
    router.add(middleware: AccessMiddleware(control: control))
    router.add(middleware: ContinueMiddleware())
    LoginRoutes(control: control, isSecure: isSecure).add(to: router)
  }
}
