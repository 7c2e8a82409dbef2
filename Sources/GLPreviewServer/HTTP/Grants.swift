// What answers are allowed by. An answer or a session that outlives the check of its request ends when the secret, the origin or the
// host name that allowed it is taken away.
internal import HTTPTypes
internal import Hummingbird
internal import Synchronization

/// What proved the role of a client. Secrets are kept as digests.
enum Credential: Sendable, Hashable {
  /// Nothing: the service asks for no credentials.
  case notRequired
  case token(SecretDigest)
  /// A user's name and password.
  case user(SecretDigest)
  /// The cookie of a login.
  case login(SecretDigest)

  /// Why it grants less than before, for the log.
  var loss: String {
    switch self {
    case .notRequired: "credentials are required now"
    case .token: "a token was removed, or its role lowered"
    case .user: "a user or password was removed or changed, or its role lowered"
    case .login: "a login has ended"
    }
  }
}

/// What a request names that the configuration has to allow.
struct RequestSite: Sendable, Hashable {
  /// The name in the Host field; nil if the service answers to it in any case.
  var host: String?
  /// The page of another site that sends the request, and gets the answer; nil if there is none.
  var origin: String?
  /// Whether the origin has to be listed by name: `*` allows only reading.
  var isChange = false

  /// Why it is not allowed any more, for the log.
  fileprivate static let loss = "an origin or a host name is no longer allowed"
}

/// All grants in use.
final class Grants: Sendable {
  private struct Entry {
    let credential: Credential
    let site: RequestSite
    var role: Role
    let onRevoked: @Sendable () -> Void
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())
  private let roleOf: @Sendable (Credential) -> Role?
  private let allows: @Sendable (RequestSite) -> Bool

  /// Both parameters are called under a lock.
  ///
  /// - Parameters:
  ///   - roleOf: the role that a credential has now; nil if it has none.
  ///   - allows: whether a site is allowed now.
  init(
    roleOf: @escaping @Sendable (Credential) -> Role?, allows: @escaping @Sendable (RequestSite) -> Bool
  ) { (self.roleOf, self.allows) = (roleOf, allows) }

  /// The number of grants in use.
  var count: Int { state.withLock { $0.entries.count } }

  /// Grants `role` to a client until the grant is released. `onRevoked` is called once if the credential loses the role before, or
  /// the site is no longer allowed.
  ///
  /// - Throws: a `Problem` of status 401 if the credential has not got the role any more; 403 if the site is no longer allowed.
  func grant(
    _ credential: Credential, at site: RequestSite = RequestSite(), _ role: Role,
    onRevoked: @escaping @Sendable () -> Void
  ) throws(Problem) -> Grant {
    let id = try state.withLock { state throws(Problem) -> Int in
      guard roleOf(credential)?.includes(role) == true else { throw Self.revoked }
      guard allows(site) else { throw Problem(.forbidden, RequestSite.loss) }
      state.lastID += 1
      state.entries[state.lastID] = Entry(
        credential: credential, site: site, role: role, onRevoked: onRevoked)
      return state.lastID
    }
    return Grant(credential, at: site, self, id)
  }

  /// Revokes all grants whose credential has lost the role, or whose site is no longer allowed.
  ///
  /// - Returns: how many, by the reason.
  func revokeLost() -> [String: Int] {
    let lost = state.withLock { state in
      var (roles, sites): ([Credential: Role?], [RequestSite: Bool]) = ([:], [:])
      var lost: [(entry: Entry, reason: String)] = []
      for (id, entry) in state.entries {
        let role = roles[entry.credential] ?? roleOf(entry.credential)
        roles[entry.credential] = .some(role)
        let isAllowed = sites[entry.site] ?? allows(entry.site)
        sites[entry.site] = isAllowed
        let isLost = role?.includes(entry.role) != true
        guard isLost || !isAllowed else { continue }
        state.entries[id] = nil
        lost.append((entry, isLost ? entry.credential.loss : RequestSite.loss))
      }
      return lost
    }
    for (entry, _) in lost { entry.onRevoked() }
    return lost.reduce(into: [:]) { $0[$1.reason, default: 0] += 1 }
  }

  fileprivate func has(_ id: Int) -> Bool { state.withLock { $0.entries[id] != nil } }

  fileprivate func release(_ id: Int) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }

  /// - Throws: a `Problem` of status 403 or 401.
  fileprivate func raise(_ id: Int, _ credential: Credential, to role: Role) throws(Problem) {
    try state.withLock { state throws(Problem) in
      guard let entry = state.entries[id] else { throw Self.revoked }
      guard roleOf(credential)?.includes(role) == true else { throw .needs(role) }
      if !entry.role.includes(role) { state.entries[id]?.role = role }
    }
  }

  private static let revoked = Problem(.unauthorized, "these credentials are not valid any more")
}

/// The right to one answer or session, in use until it is released.
final class Grant: Sendable {
  let credential: Credential
  private let site: RequestSite
  private let grants: Grants
  private let id: Int

  fileprivate init(_ credential: Credential, at site: RequestSite, _ grants: Grants, _ id: Int) {
    (self.credential, self.site, self.grants, self.id) = (credential, site, grants, id)
  }

  deinit { release() }

  func release() { grants.release(id) }

  /// Whether it is still in use: neither revoked nor released.
  var isValid: Bool { grants.has(id) }

  /// The answer needs a higher role than the method of its request.
  ///
  /// - Throws: a `Problem` of status 403 or 401.
  func raise(to role: Role) throws(Problem) { try grants.raise(id, credential, to: role) }

  /// Another one for what goes on after the answer.
  ///
  /// - Throws: a `Problem` of status 401 or 403.
  func another(_ role: Role, onRevoked: @escaping @Sendable () -> Void) throws(Problem) -> Grant {
    try grants.grant(credential, at: site, role, onRevoked: onRevoked)
  }
}

extension Response {
  /// What a connection sends at once: the kernel has it before anything could be revoked.
  private static let shortest = 64 << 10

  /// The answer, whose grant is released when its body has been written.
  func holding(_ grant: Grant?) -> Self {
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
  func includes(_ other: Role) -> Bool { self == .control || other == .read }
}

extension Problem {
  /// The client's role is too low.
  static func needs(_ role: Role) -> Problem {
    Problem(
      .forbidden, "this requires the role '\(role.rawValue)'; these credentials have the role 'read'")
  }
}
