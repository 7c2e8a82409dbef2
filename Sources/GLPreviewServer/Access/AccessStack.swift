// All that a request goes through before a route, in the one order in which it is right.
internal import Hummingbird

/// The middlewares of a service.
struct AccessStack: Sendable {
  let control: AccessControl
  let host: HostRule
  let limiter: RateLimiter
  let maximumBytes: Int
  let isSecure: Bool

  /// Those of `configuration`; `control` may be told of another later.
  init(_ configuration: ServerConfiguration, control: AccessControl) {
    self.control = control
    host = HostRule(configuration.bind)
    limiter = RateLimiter(requestsPerSecond: configuration.limits.requestsPerSecond)
    maximumBytes = configuration.limits.requestBytes
    isSecure = configuration.tls != nil
  }

  /// Adds them, and the login's routes; routes that are added later are behind them.
  func add(to router: Router<ServiceContext>) {
    // Outermost what writes on every answer, refusals too; they are made from errors just within.
    router.add(middleware: SecurityHeadersMiddleware(isSecure: isSecure))
    router.add(middleware: CrossOriginMiddleware(control: control))
    router.add(middleware: ProblemMiddleware())
    // Cheapest first; and who guesses secrets is counted before one is looked at.
    router.add(middleware: RateLimitMiddleware(limiter: limiter))
    router.add(middleware: HostMiddleware(control: control, rule: host))
    router.add(middleware: BodyMiddleware(maximumBytes: maximumBytes))
    router.add(middleware: AccessMiddleware(control: control))
    router.add(middleware: ContinueMiddleware())
    LoginRoutes(control: control, isSecure: isSecure).add(to: router)
  }
}
