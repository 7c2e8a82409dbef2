// What is known of a request besides its content, and what all middlewares are.
package import Hummingbird
package import Logging
package import NIOCore

/// The context of a request: the client, its address and its role.
package struct ServiceContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  /// The connection; nil for requests that came by the broker.
  package let channel: (any Channel)?
  /// The client's address without a port; `unix` for a local socket.
  package let clientAddress: String
  /// The client as limits count it.
  package let client: ClientGroup
  /// When the time for an answer began.
  package var startedAt = CaptureClock.now
  /// Set by `HostMiddleware`.
  package var site = RequestSite()
  /// The rule of the route.
  package var rule = RouteRule()
  /// The client's role; set by `AccessMiddleware`, nil before it.
  package var role: Role?
  /// The role of a request that came by the broker; nil for those that prove theirs.
  package let grantedRole: Role?
  /// The right to the answer; set by `AccessMiddleware`, nil where no secret gives it.
  package var grant: ClientGrant?

  package init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
    clientAddress = source.channel.remoteAddress?.ipAddress ?? "unix"
    client = ClientGroup(clientAddress)
    grantedRole = nil
  }

  /// Of a request that has come by the broker.
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
  /// - Throws: a `Problem` of status 501 if the request came without one.
  package func connection() throws(Problem) -> any Channel {
    guard let channel else { throw Problem(.notImplemented, "this is answered over HTTP only") }
    return channel
  }

  /// Demands a higher role than the method of the request does.
  ///
  /// - Throws: a `Problem` of status 403; 401 if the client has lost its credentials meanwhile.
  package func require(_ needed: Role) throws(Problem) {
    guard let role, role.includes(needed) else { throw .needs(needed) }
    try grant?.raise(to: needed)
  }

  /// The time that remains of a request's limit; at least a millisecond, for results that are already available.
  package func rest(of limit: Duration) -> Duration {
    max(limit - (CaptureClock.now - startedAt), .milliseconds(1))
  }

  /// The largest body, in bytes; set by `BodyMiddleware` from the configuration.
  package var maxUploadSize = ServiceLimits().requestBytes
}

package protocol ServiceMiddleware: RouterMiddleware where Context == ServiceContext {
  /// What is behind the middleware: the next one, or the route.
  typealias Next = (Request, ServiceContext) async throws -> Response
}
