// Answers a server's challenge for a password: with digest (RFC 7616) if possible, otherwise with basic (RFC 7617).
internal import PreviewCore

/// A server's challenge; a `WWW-Authenticate` field may hold several.
struct HTTPChallenge: Sendable, Hashable {
  /// In lower case: `basic`, `digest`.
  let scheme: String
  /// Names are in lower case.
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

/// Signs requests to one server after it has sent a challenge.
struct HTTPAuthorization: Sendable {
  private enum Way: Sendable {
    case basic
    case digest(Digest)
  }

  private struct Digest: Sendable {
    var realm: String
    var nonce: String
    var opaque: String?
    var algorithm: String?
    var hash: @Sendable ([UInt8]) -> [UInt8]
    var isSession: Bool
    var hasQuality: Bool
    var count = 0
  }

  private let credentials: HTTPAddress.Credentials
  private var way: Way

  /// Answers the best of `challenges`; nil if none is supported.
  init?(answering challenges: [HTTPChallenge], _ credentials: HTTPAddress.Credentials) {
    let digests = challenges.compactMap(Self.digest)
    self.credentials = credentials
    if let digest = digests.first(where: { $0.algorithm?.uppercased().hasPrefix("SHA") == true })
      ?? digests.first
    {
      way = .digest(digest)
    } else if challenges.contains(where: { $0.scheme == "basic" }) {
      way = .basic
    } else {
      return nil
    }
  }

  /// Whether the server only wants the answer to a newer challenge, so that the password is not wrong.
  static func isStale(_ challenges: [HTTPChallenge]) -> Bool {
    challenges.contains { $0.scheme == "digest" && $0.parameters["stale"]?.lowercased() == "true" }
  }

  private static func digest(_ challenge: HTTPChallenge) -> Digest? {
    guard challenge.scheme == "digest", let nonce = challenge.parameters["nonce"] else { return nil }
    let algorithm = challenge.parameters["algorithm"]
    let name = algorithm?.uppercased() ?? "MD5"
    let hash: @Sendable ([UInt8]) -> [UInt8]
    switch name {
    case "MD5", "MD5-SESS": hash = { MD5.sum(of: $0) }
    case "SHA-256", "SHA-256-SESS": hash = { SHA256.sum(of: $0) }
    default: return nil
    }
    let qualities = challenge.parameters["qop"]?.split(separator: ",").map { $0.trimmed.lowercased() }
    // The server accepts only `auth-int`, which would sign bodies too.
    if let qualities, !qualities.contains("auth") { return nil }
    return Digest(
      realm: challenge.parameters["realm"] ?? "", nonce: nonce, opaque: challenge.parameters["opaque"],
      algorithm: algorithm, hash: hash, isSession: name.hasSuffix("-SESS"), hasQuality: qualities != nil)
  }

  /// The `Authorization` field of the next request, a GET of `target`. `clientNonce` is random.
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
    func sum(_ text: String) -> String { Hexadecimal.text(of: digest.hash(Array(text.utf8))) }
    let count = UInt32(truncatingIfNeeded: digest.count).digits(8, radix: 16)
    var secret = sum("\(credentials.user):\(digest.realm):\(credentials.password)")
    if digest.isSession { secret = sum("\(secret):\(digest.nonce):\(clientNonce)") }
    let request = sum("GET:\(target)")
    let response =
      digest.hasQuality
      ? sum("\(secret):\(digest.nonce):\(count):\(clientNonce):auth:\(request)")
      : sum("\(secret):\(digest.nonce):\(request)")
    var fields = [
      "username=\(quoted(credentials.user))", "realm=\(quoted(digest.realm))",
      "nonce=\(quoted(digest.nonce))", "uri=\(quoted(target))", "response=\"\(response)\"",
    ]
    if let algorithm = digest.algorithm { fields.append("algorithm=\(algorithm)") }
    if let opaque = digest.opaque { fields.append("opaque=\(quoted(opaque))") }
    if digest.hasQuality { fields += ["qop=auth", "nc=\(count)"] }
    if digest.hasQuality || digest.isSession { fields.append("cnonce=\(quoted(clientNonce))") }
    return "Digest " + fields.joined(separator: ", ")
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : "\($1)" } + "\""
  }
}
