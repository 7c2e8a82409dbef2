// The right of a client to an answer: it ends when the secret, the origin or the host name that allowed it is taken away.
internal import HTTPTypes
package import Hummingbird

/// What proved the role of a client. Secrets are kept as digests.
package enum Credential: Sendable, Hashable {
  /// Nothing: the service asks for no credentials.
  case notRequired
  case token(SecretDigest)
  /// A user's name and password.
  case user(SecretDigest)
  /// The cookie of a login.
  case login(SecretDigest)

  /// Why it grants less than before, for the log.
  fileprivate var loss: String {
    switch self {
    case .notRequired: "credentials are required now"
    case .token: "a token was removed, or its role lowered"
    case .user: "a user or password was removed or changed, or its role lowered"
    case .login: "a login has ended"
    }
  }
}

/// What a request names that the configuration has to allow.
package struct RequestSite: Sendable, Hashable {
  /// The name in the Host field; nil if the service answers to it in any case.
  package var host: String?
  /// The page of another site that sends the request, and gets the answer; nil if there is none.
  package var origin: String?
  /// Whether the origin has to be listed by name: `*` allows only reading.
  package var isChange = false
}

/// The right to an answer: a credential with the role, and a site that is allowed.
package struct ClientRight: Sendable, Hashable {
  package let credential: Credential
  package var site = RequestSite()
  package var role: Role

  /// - Parameters:
  ///   - known: the role that the credential has now; nil if it has none.
  ///   - isAllowed: whether the site is allowed now.
  /// - Throws: `Problem` 401 if the credential does not have the role any more; 403 if the site is no longer allowed.
  package func check(has known: Role?, isAllowed: Bool) throws(Problem) {
    guard known?.includes(role) == true else {
      throw Problem(.unauthorized, "these credentials are not valid any more")
    }
    guard isAllowed else { throw Problem(.forbidden, Self.siteLoss) }
  }

  /// Why it was lost, for the log; `hasRole` says whether the credential still has the role.
  package func loss(hasRole: Bool) -> String { hasRole ? Self.siteLoss : credential.loss }

  private static let siteLoss = "an origin or a host name is no longer allowed"
}

package typealias ClientGrant = Grant<ClientRight>

extension Grants<ClientRight> {
  /// Grants `role` to a client.
  ///
  /// - Throws: `Problem` 401 or 403.
  package func grant(
    _ credential: Credential, at site: RequestSite = RequestSite(), _ role: Role,
    onRevoked: @escaping @Sendable () -> Void
  ) throws(Problem) -> ClientGrant {
    try grant(ClientRight(credential: credential, site: site, role: role), onRevoked: onRevoked)
  }
}

extension Grant<ClientRight> {
  /// The answer needs a higher role than the method of its request.
  ///
  /// - Throws: `Problem` 403 if the role is too low; 401 if the grant was revoked.
  func raise(to role: Role) throws(Problem) {
    guard !subject.role.includes(role) else { return try check() }
    var right = subject
    right.role = role
    try check()
    do throws(Problem) { try change(to: right) } catch {
      throw error.status == .unauthorized ? .needs(role) : error
    }
  }

  /// Another one for what goes on after the answer.
  ///
  /// - Throws: `Problem` 401 or 403.
  package func another(_ role: Role, onRevoked: @escaping @Sendable () -> Void) throws(Problem) -> ClientGrant
  {
    try grants.grant(subject.credential, at: subject.site, role, onRevoked: onRevoked)
  }
}

extension Response {
  /// What a connection sends at once: the kernel has it before anything could be revoked.
  private static let shortest = 64 << 10

  /// The answer, whose grant is released when its body has been written.
  package func holding(_ grant: ClientGrant?) -> Self {
    guard let grant else { return self }
    // Short answers go out in one write, which a body of our own would make three.
    guard body.contentLength.map({ $0 > Self.shortest }) ?? true else {
      grant.release()
      return self
    }
    var response = self
    response.body = ResponseBody(contentLength: body.contentLength) { [body] writer in
      defer { grant.release() }
      try await body.write(writer)
    }
    return response
  }
}

extension Role {
  /// Whether this role may do what needs `other`.
  package func includes(_ other: Role) -> Bool { self == .control || other == .read }
}

extension Problem {
  /// The client's role is too low.
  package static func needs(_ role: Role) -> Problem {
    Problem(
      .forbidden, "this requires the role '\(role.rawValue)'; these credentials have the role 'read'")
  }
}
