// Answers a server's challenge for a password: with digest (RFC 7616) if possible, otherwise with basic (RFC
// 7617).

/// A server's challenge. A `WWW-Authenticate` field may contain several.
struct HTTPChallenge: Sendable, Hashable {
  /// The scheme in lower case: `basic`, `digest`.
  let scheme: String
  /// The parameters, with names in lower case.
  let parameters: [String: String]

  static func parse(_ fields: [String]) -> [HTTPChallenge] { fields.flatMap { parse($0) } }

  private static func parse(_ field: String) -> [HTTPChallenge] {
    var found: [(scheme: String, parameters: [String: String])] = []
    for item in split(field) {
      // `Digest realm="a"` begins a challenge, `nonce="b"` continues it.
      var rest = item[...]
      let word = rest.prefix { $0 != "=" && $0 != " " }
      if !rest.dropFirst(word.count).trimmed.hasPrefix("=") || rest.dropFirst(word.count).isEmpty {
        found.append((word.lowercased(), [:]))
        rest = rest.dropFirst(word.count)
      }
      guard !found.isEmpty, let equals = rest.firstIndex(of: "=") else { continue }
      let name = rest[..<equals].trimmed.lowercased()
      found[found.count - 1].parameters[name] = unquoted(rest[rest.index(after: equals)...].trimmed)
    }
    return found.map { HTTPChallenge(scheme: $0.scheme, parameters: $0.parameters) }
  }

  /// Splits at commas outside quotes.
  private static func split(_ field: String) -> [String] {
    var items = [""]
    var isQuoted = false
    var isEscaped = false
    for character in field {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ",", !isQuoted {
        items.append("")
        continue
      }
      items[items.count - 1].append(character)
    }
    return items.map { $0.trimmed }.filter { !$0.isEmpty }
  }

  private static func unquoted(_ text: String) -> String {
    guard text.count >= 2, text.first == "\"", text.last == "\"" else { return text }
    var result = ""
    var isEscaped = false
    for character in text.dropFirst().dropLast() {
      if character == "\\", !isEscaped {
        isEscaped = true
      } else {
        result.append(character)
        isEscaped = false
      }
    }
    return result
  }
}

/// Authorizes requests to one server after it has sent a challenge.
struct HTTPAuthorization: Sendable {
  private enum Way: Sendable {
    case basic
    case digest(Digest)
  }

  private struct Digest: Sendable {
    var realm: String
    var nonce: String
    var opaque: String?
    var algorithm: DigestAlgorithm
    var hasQuality: Bool
    var count = 0
  }

  private let credentials: HTTPAddress.Credentials
  private var way: Way

  /// Answers the best of `challenges`; nil if none is supported.
  init?(answering challenges: [HTTPChallenge], _ credentials: HTTPAddress.Credentials) {
    let digests = challenges.compactMap(Self.digest)
    self.credentials = credentials
    if let digest = digests.first(where: { $0.algorithm.isSHA })
      ?? digests.first
    {
      way = .digest(digest)
    } else if challenges.contains(where: { $0.scheme == "basic" }) {
      way = .basic
    } else {
      return nil
    }
  }

  /// Returns whether the server only requires a response to a newer challenge. The password is not wrong
  /// then.
  static func isStale(_ challenges: [HTTPChallenge]) -> Bool {
    challenges.contains { $0.scheme == "digest" && $0.parameters["stale"]?.lowercased() == "true" }
  }

  private static func digest(_ challenge: HTTPChallenge) -> Digest? {
    guard challenge.scheme == "digest", let nonce = challenge.parameters["nonce"],
      let algorithm = DigestAlgorithm(challenge.parameters["algorithm"])
    else { return nil }
    let qualities = challenge.parameters["qop"]?.split(separator: ",").map { $0.trimmed.lowercased() }
    // The server accepts only `auth-int`, which would sign bodies too.
    if let qualities, !qualities.contains("auth") { return nil }
    return Digest(
      realm: challenge.parameters["realm"] ?? "", nonce: nonce, opaque: challenge.parameters["opaque"],
      algorithm: algorithm, hasQuality: qualities != nil)
  }

  /// Returns the `Authorization` field of the next request, a GET of `target`. `clientNonce` is random.
  mutating func field(target: String, clientNonce: String) -> String {
    switch way {
    case .basic:
      let base64 = Base64.encoded(Array("\(credentials.user):\(credentials.password)".utf8))
      return "Basic " + String(decoding: base64, as: UTF8.self)
    case .digest(var digest):
      digest.count += 1
      way = .digest(digest)
      return field(digest, target, clientNonce)
    }
  }

  private func field(_ digest: Digest, _ target: String, _ clientNonce: String) -> String {
    let count = UInt32(truncatingIfNeeded: digest.count).digits(8, radix: 16)
    let response = digest.algorithm.response(
      of: credentials, realm: digest.realm, nonce: digest.nonce, request: "GET:\(target)",
      clientNonce: clientNonce, quality: digest.hasQuality ? "\(count):\(clientNonce):auth" : nil)
    var fields = [
      "username=\(quoted(credentials.user))", "realm=\(quoted(digest.realm))",
      "nonce=\(quoted(digest.nonce))", "uri=\(quoted(target))", "response=\"\(response)\"",
    ]
    if let name = digest.algorithm.name { fields.append("algorithm=\(name)") }
    if let opaque = digest.opaque { fields.append("opaque=\(quoted(opaque))") }
    if digest.hasQuality { fields += ["qop=auth", "nc=\(count)"] }
    if digest.hasQuality || digest.algorithm.isSession { fields.append("cnonce=\(quoted(clientNonce))") }
    return "Digest " + fields.joined(separator: ", ")
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : "\($1)" } + "\""
  }
}

/// A digest algorithm.
struct DigestAlgorithm: Sendable {
  /// The name as the server wrote it; nil if it named none.
  let name: String?
  let isSHA: Bool
  /// Whether one client nonce applies to a whole session.
  let isSession: Bool

  /// Nil for algorithms that are not supported.
  init?(_ name: String?) {
    let upper = name?.uppercased() ?? "MD5"
    guard ["MD5", "MD5-SESS", "SHA-256", "SHA-256-SESS"].contains(upper) else { return nil }
    self.name = name
    isSHA = upper.hasPrefix("SHA")
    isSession = upper.hasSuffix("-SESS")
  }

  /// Returns the response to a challenge (RFC 7616, 3.4.1). `request` is `METHOD:URI`; `quality` is the
  /// client's `COUNT:NONCE:QOP`, nil if the server requests none.
  func response(
    of credentials: HTTPAddress.Credentials, realm: String, nonce: String, request: String,
    clientNonce: String, quality: String?
  ) -> String {
    func sum(_ text: String) -> String {
      let bytes = Array(text.utf8)
      return Hexadecimal.text(of: isSHA ? SHA256.sum(of: bytes) : MD5.sum(of: bytes))
    }
    var secret = sum("\(credentials.user):\(realm):\(credentials.password)")
    if isSession { secret = sum("\(secret):\(nonce):\(clientNonce)") }
    return sum("\(secret):\(nonce):\(quality.map { "\($0):" } ?? "")\(sum(request))")
  }
}
