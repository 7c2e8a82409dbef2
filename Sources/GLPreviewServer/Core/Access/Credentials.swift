// The configured secrets as digests, so that comparisons always cover exactly 32 bytes.
internal import FoundationEssentials

package enum PresentedCredentials: Sendable, Hashable {
  case token(String)
  case user(String, password: String)
  /// A header field that can't be parsed.
  case nothing

  /// Parses the `Authorization` field of a request.
  init(authorization: String) {
    self = .nothing
    let halves = authorization.split(separator: " ", maxSplits: 1)
    guard halves.count == 2 else { return }
    let value = String(halves[1].trimmingPrefix { $0 == " " })
    switch halves[0].lowercased() {
    case "bearer": self = .token(value)
    case "basic":
      guard let bytes = Data(base64Encoded: value) else { return }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let colon = text.firstIndex(of: ":") else { return }
      self = .user(String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    default: return
    }
  }

  /// The credential to check; nil for a field that can't be parsed.
  package var credential: Credential? {
    switch self {
    case .token(let token): .token(SecretDigest(of: token))
    case .user(let name, let password): .user(SecretDigest(of: name, password: password))
    case .nothing: nil
    }
  }
}

extension Credential {
  init(cookie: String) { self = .login(SecretDigest(of: cookie)) }
}

/// The roles of all configured secrets.
///
/// Response times reveal nothing: digests are compared in constant time, and the whole list is always
/// searched.
struct Credentials: Sendable {
  private struct Entry: Sendable {
    let digest: SecretDigest
    let role: Role
  }

  private let tokens: [Entry]
  private let users: [Entry]
  /// The keys of links, with the digests of their names and secrets.
  let linkKeys: [(key: LinkKey, digest: SecretDigest)]

  init(_ configuration: AccessConfiguration) {
    tokens = configuration.tokens.map { Entry(digest: SecretDigest(of: $0.secret), role: $0.role) }
    users = configuration.users.map {
      Entry(digest: SecretDigest(of: $0.name, password: $0.password), role: $0.role)
    }
    linkKeys = configuration.linkKeys.map { ($0, SecretDigest(of: $0.name, password: $0.secret)) }
  }

  /// Returns the role that a credential other than a login grants at a time; nil if it grants none.
  func role(of credential: Credential?, at now: WallTime) -> Role? {
    switch credential {
    case .token(let digest): Self.role(of: digest, among: tokens)
    case .user(let digest): Self.role(of: digest, among: users)
    case .link(let link): linkKeys.contains { link.isValid(by: $0.key, $0.digest, at: now) } ? .read : nil
    case .notRequired, .login, nil: nil
    }
  }

  private static func role(of digest: SecretDigest, among entries: [Entry]) -> Role? {
    var found: Role?
    for entry in entries where entry.digest == digest && found != .control { found = entry.role }
    return found
  }
}
