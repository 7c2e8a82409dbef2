// The secrets that open the door, as digests: what is compared is always 32 bytes, and all of them.
internal import Crypto
internal import FoundationEssentials

/// Who may do what, worked out once from a configuration.
///
/// Nothing is said by how long an answer takes: each secret is compared by its SHA-256 digest, in constant time, and the
/// list is always gone through to its end.
struct Credentials: Sendable {
  private struct Entry: Sendable {
    let digest: SHA256Digest
    let role: Role
  }

  private let tokens: [Entry]
  private let users: [Entry]

  init(_ configuration: AccessConfiguration) {
    tokens = configuration.tokens.map {
      Entry(digest: SHA256.hash(data: Array($0.secret.utf8)), role: $0.role)
    }
    users = configuration.users.map { Entry(digest: Self.digest($0.name, $0.password), role: $0.role) }
  }

  /// What the bearer of `token` may do; nil where it is none of ours.
  func role(token: String) -> Role? {
    Self.role(of: SHA256.hash(data: Array(token.utf8)), among: tokens)
  }

  /// What somebody may do; nil where name or password are wrong.
  func role(user: String, password: String) -> Role? {
    Self.role(of: Self.digest(user, password), among: users)
  }

  /// What `authorization`, the field of a request, proves; nil where it proves nothing.
  func role(authorization: String) -> Role? {
    let halves = authorization.split(separator: " ", maxSplits: 1)
    guard halves.count == 2 else { return nil }
    let value = halves[1].trimmingPrefix { $0 == " " }
    switch halves[0].lowercased() {
    case "bearer": return role(token: String(value))
    case "basic":
      guard let bytes = Data(base64Encoded: String(value)) else { return nil }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let colon = text.firstIndex(of: ":") else { return nil }
      return role(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    default: return nil
    }
  }

  private static func role(of digest: SHA256Digest, among entries: [Entry]) -> Role? {
    var found: Role?
    for entry in entries where entry.digest == digest { found = max(found, entry.role) }
    return found
  }

  /// Of both at once, so that a name and a password of two users are no pair, and no colon makes a difference.
  private static func digest(_ user: String, _ password: String) -> SHA256Digest {
    SHA256.hash(
      data: Array(SHA256.hash(data: Array(user.utf8))) + Array(SHA256.hash(data: Array(password.utf8))))
  }

  private static func max(_ one: Role?, _ other: Role) -> Role { one == .control ? .control : other }
}
