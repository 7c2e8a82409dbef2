// The middlewares that a request passes before its route, in the required order.
package import Hummingbird

/// The middlewares of a service, and its login routes.
package struct AccessMiddlewares: Sendable {
  package let configuration: ServerConfiguration
  /// The secrets, which can be updated later.
  package let control: AccessControl
  /// Counts HTTP requests; shared with RTSP.
  package let limiter: RateLimiter
  package let metrics: ServiceMetrics

  package init(
    configuration: ServerConfiguration, control: AccessControl, limiter: RateLimiter, metrics: ServiceMetrics
  ) {
    (self.configuration, self.control, self.limiter) = (configuration, control, limiter)
    self.metrics = metrics
  }

  /// Adds the middlewares to the router, and the login to `routes`. Routes added later are behind the
  /// middlewares.
  package func add(to router: Router<ServiceContext>, _ routes: ServiceRoutes) {
    let (limits, isSecure) = (configuration.limits, configuration.tls != nil)
    // Outermost: the middlewares that add fields to every answer, including errors, which the next one
    // converts to answers.
    router.add(middleware: SecurityHeadersMiddleware(isSecure: isSecure))
    router.add(middleware: CrossOriginMiddleware(control: control))
    router.add(middleware: ProblemMiddleware())
    // The cheapest come first. Rate limits count an attempt to guess a secret before the secret is checked.
    let probes = RateLimiter(requestsPerSecond: limits.requestsPerSecond)
    router.add(middleware: RateLimitMiddleware(limiter: limiter, probes: probes))
    router.add(middleware: HostMiddleware(control: control))
    router.add(middleware: BodyMiddleware(maximumBytes: limits.requestBytes))
    let links = LinkLimits(requestsPerSecond: limits.requestsPerSecond)
    router.add(middleware: AccessMiddleware(control: control, metrics: metrics, limits: links))
    router.add(middleware: ContinueMiddleware())
    LoginRoutes(control: control, isSecure: isSecure).add(to: routes)
  }
}
