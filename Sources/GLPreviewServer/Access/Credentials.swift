// The configured secrets as digests, so that comparisons always cover exactly 32 bytes.
internal import Crypto
internal import FoundationEssentials

enum PresentedCredentials: Sendable, Hashable {
  case token(String)
  case user(String, password: String)
  /// A field that can't be parsed.
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

  /// What it proves if it is right; nil for a field that can't be parsed.
  var credential: Credential? {
    switch self {
    case .token(let token): .token(SHA256.hash(data: Array(token.utf8)))
    case .user(let name, let password): .user(Credentials.digest(name, password))
    case .nothing: nil
    }
  }
}

extension Credential {
  init(cookie: String) { self = .login(SHA256.hash(data: Array(cookie.utf8))) }
}

/// The roles of all configured secrets.
///
/// Response times reveal nothing: secrets are compared by their SHA-256 digests in constant time, and the whole list
/// is always searched.
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

  /// The role that a token or a user's password grants; nil if it grants none.
  func role(of credential: Credential?) -> Role? {
    switch credential {
    case .token(let digest): Self.role(of: digest, among: tokens)
    case .user(let digest): Self.role(of: digest, among: users)
    case .notRequired, .login, nil: nil
    }
  }

  private static func role(of digest: SHA256Digest, among entries: [Entry]) -> Role? {
    var found: Role?
    for entry in entries where entry.digest == digest && found != .control { found = entry.role }
    return found
  }

  /// A digest of both together, so that one user's name and another's password never match, and colons cause no
  /// ambiguity.
  static func digest(_ user: String, _ password: String) -> SHA256Digest {
    SHA256.hash(
      data: Array(SHA256.hash(data: Array(user.utf8))) + Array(SHA256.hash(data: Array(password.utf8))))
  }
}
