// The context of a request, and the protocol of all middlewares.
package import Hummingbird
package import Logging
package import NIOCore

/// The context of a request: the client, its address and its role.
package struct ServiceContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  /// The connection; nil for requests through NATS.
  package let channel: (any Channel)?
  /// The client's address without a port; `unix` for a Unix socket, `broker` for requests through NATS.
  package let clientAddress: String
  /// The client for counting limits.
  package let client: ClientGroup
  /// The time from which the request's time limit counts.
  package var startedAt = CaptureClock.now
  /// The host name and origin; set by `HostMiddleware`.
  package var site = RequestSite()
  /// The rule of the route.
  package var rule = RouteRule()
  /// The client's role; set by `AccessMiddleware`, nil before it.
  package var role: Role?
  /// The role of a request through NATS; nil for HTTP requests, which must authenticate.
  package let grantedRole: Role?
  /// The right to the answer; set by `AccessMiddleware`. Nil if the route needs no role, and for requests
  /// through NATS.
  package var grant: ClientGrant?

  package init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
    clientAddress = source.channel.remoteAddress?.ipAddress ?? "unix"
    client = ClientGroup(clientAddress)
    grantedRole = nil
  }

  /// Creates the context of a request through NATS.
  package init(granting role: Role, logger: Logger) {
    coreContext = CoreRequestContextStorage(source: BrokerSource(logger: logger))
    (channel, clientAddress, grantedRole) = (nil, "broker", role)
    client = .brokerClients
  }

  private struct BrokerSource: RequestContextSource {
    let logger: Logger
  }

  /// The connection, which streams write to directly.
  ///
  /// - Throws: a `Problem` with status 501 if the request has no connection.
  package func connection() throws(Problem) -> any Channel {
    guard let channel else { throw Problem(.notImplemented, "this is available over HTTP only") }
    return channel
  }

  /// Requires a higher role than the method of the request does.
  ///
  /// - Throws: a `Problem` with status 403; 401 if the client's credentials have been revoked since.
  package func require(_ needed: Role) throws(Problem) {
    guard let role, role.includes(needed) else { throw .needs(needed) }
    try grant?.raise(to: needed)
  }

  /// Returns whether the client has a role still. What is being sent ends when that role is taken away, too.
  package func holds(_ needed: Role) -> Bool { (try? require(needed)) != nil }

  /// Returns the remaining time of a request's limit; at least a millisecond, for results that are already
  /// available.
  package func rest(of limit: Duration) -> Duration {
    max(limit - (CaptureClock.now - startedAt), .milliseconds(1))
  }

  /// The largest body, in bytes; set by `BodyMiddleware` from the configuration.
  package var maxUploadSize = ServiceLimits().requestBytes
}

package protocol ServiceMiddleware: RouterMiddleware where Context == ServiceContext {
  /// The next handler: another middleware, or the route.
  typealias Next = (Request, ServiceContext) async throws -> Response
}
