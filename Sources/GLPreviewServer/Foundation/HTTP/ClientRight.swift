// The right of a client to an answer. It ends when the secret, origin or host name that allowed it is
// removed.
internal import HTTPTypes
package import Hummingbird

/// The proof of a client's role. Secrets are stored as digests.
package enum Credential: Sendable, Hashable {
  /// None: the service requires no credentials.
  case notRequired
  case token(SecretDigest)
  /// A user's name and password.
  case user(SecretDigest)
  /// The cookie of a login.
  case login(SecretDigest)
  /// A signed link.
  case link(LinkRight)

  /// The reason why it grants less than before, for the log.
  fileprivate var loss: String {
    switch self {
    case .notRequired: "credentials are now required"
    case .token: "a token was removed, or its role lowered"
    case .user: "a user or password was removed or changed, or its role lowered"
    case .login: "a login has ended"
    case .link: "a link has expired, or its key was removed or changed"
    }
  }
}

/// The right of a signed link: to see a camera until a time, as long as its key allows it.
package struct LinkRight: Sendable, Hashable {
  /// The key's name and secret.
  package let key: SecretDigest
  /// The camera or scene that the link shows.
  package let camera: String
  /// The time at which it ends, in seconds since 1970; nil for none.
  package let expiry: Int?

  package init(key: SecretDigest, camera: String, expiry: Int?) {
    (self.key, self.camera, self.expiry) = (key, camera, expiry)
  }

  /// Returns whether the link is valid at a time by a key of the configuration, of this digest.
  package func isValid(by known: LinkKey, _ digest: SecretDigest, at now: WallTime) -> Bool {
    known.includes(camera: camera) && (expiry != nil || known.allowsForever) && !isOver(at: now)
      && digest == key
  }

  package func isOver(at now: WallTime) -> Bool { expiry.map { now.sinceEpoch >= .seconds($0) } ?? false }
}

/// The parts of a request that the configuration must allow: its host name and origin.
package struct RequestSite: Sendable, Hashable {
  /// The name in the Host field; nil if the service always accepts it.
  package var host: String?
  /// The origin of a page of another site that sends the request and receives the answer; nil if there is
  /// none.
  package var origin: String?
  /// Whether the origin must be listed by name, because `*` allows only reading.
  package var isChange = false
}

/// The right to an answer: a credential with its role, and an allowed site.
package struct ClientRight: Sendable, Hashable {
  package let credential: Credential
  package var site = RequestSite()
  package var role: Role

  /// - Parameters:
  ///   - known: the role that the credential has now; nil if it has none.
  ///   - isAllowed: whether the site is allowed now.
  /// - Throws: `Problem` 401 if the credential no longer has the role; 403 if the site is no longer allowed.
  package func check(has known: Role?, isAllowed: Bool) throws(Problem) {
    guard known?.includes(role) == true else {
      throw Problem(.unauthorized, "these credentials are no longer valid")
    }
    guard isAllowed else { throw Problem(.forbidden, Self.siteLoss) }
  }

  /// Returns the reason for the loss, for the log; `hasRole` says whether the credential still has the role.
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
  /// Raises the grant to a role that is higher than the request's method needs.
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

  /// Returns a further grant with the same credential and site, for work that continues after the answer.
  ///
  /// - Throws: `Problem` 401 or 403.
  package func another(_ role: Role, onRevoked: @escaping @Sendable () -> Void) throws(Problem) -> ClientGrant
  {
    try grants.grant(subject.credential, at: subject.site, role, onRevoked: onRevoked)
  }
}

extension Response {
  /// The longest answer that is sent without holding a grant, in bytes. The kernel accepts it before anything
  /// could be revoked.
  private static let shortest = 64 << 10

  /// Returns the answer with a body that releases the grant when it has been written.
  package func holding(_ grant: ClientGrant?) -> Self {
    guard let grant else { return self }
    // Short answers are sent in one write; a wrapping body would need three.
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
  /// Returns whether this role permits everything that `other` permits.
  package func includes(_ other: Role) -> Bool { self == .control || other == .read }
}

extension Problem {
  /// 403 for a client whose role is too low.
  package static func needs(_ role: Role) -> Problem {
    Problem(
      .forbidden, "the role '\(role.rawValue)' is required; these credentials have the role 'read'")
  }
}
