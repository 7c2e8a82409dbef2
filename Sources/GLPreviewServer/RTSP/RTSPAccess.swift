// Authenticates RTSP clients: Digest as cameras implement it (RFC 2617: MD5, without qop), which sends no
// password.
internal import FoundationEssentials

/// The credentials of one connection. Its nonce is valid for no other.
struct RTSPAccess: Sendable {
  private let control: AccessControl
  private let client: ClientGroup
  private let nonce: String

  init(_ control: AccessControl, _ client: ClientGroup) {
    (self.control, self.client) = (control, client)
    nonce = Hexadecimal.text(of: (0..<16).map { _ in .random(in: .min ... .max) })
  }

  enum Answer: Sendable, Hashable {
    case allowed(Credential)
    /// With the value of `WWW-Authenticate`. `isWrong` if the credentials were wrong, and not only the nonce
    /// of another connection.
    case refused(String, isWrong: Bool)
  }

  /// - Throws: `Problem` 429 after too many wrong passwords.
  func check(_ request: RTSPRequest) throws(Problem) -> Answer {
    guard control.asksForCredentials else { return .allowed(.notRequired) }
    guard let field = request.fields["authorization"], field.lowercased().hasPrefix("digest ") else {
      // Only Digest is supported: any other scheme proves nothing.
      return refused(isStale: false, isWrong: request.fields["authorization"] != nil)
    }
    let values = Self.parameters(field.dropFirst(7))
    guard values["nonce"] == nonce else { return refused(isStale: true, isWrong: false) }
    // The user whose password matches, checked and counted as everywhere else; none for a wrong password.
    let user = control.configuration.users.last { user in
      user.name == values["username"] && isRight(values, request.method, password: user.password)
    }
    let presented = user.map { PresentedCredentials.user($0.name, password: $0.password) } ?? .nothing
    guard try control.role(for: client, presented) != nil, let credential = presented.credential else {
      return refused(isStale: false, isWrong: true)
    }
    return .allowed(credential)
  }

  private func refused(isStale: Bool, isWrong: Bool) -> Answer {
    let challenge = "Digest realm=\"\(Self.realm)\", nonce=\"\(nonce)\""
    return .refused(challenge + (isStale ? ", stale=TRUE" : ""), isWrong: isWrong)
  }

  static let realm = "glpreview"

  private func isRight(_ values: [String: String], _ method: String, password: String) -> Bool {
    guard let response = values["response"], let uri = values["uri"], let name = values["username"] else {
      return false
    }
    let expected = Self.response(name, password, nonce: nonce, method, uri)
    return SecretDigest(of: response.lowercased()) == SecretDigest(of: expected)
  }

  /// The `response` that proves a password.
  static func response(
    _ user: String, _ password: String, nonce: String, _ method: String, _ uri: String
  ) -> String {
    func hash(_ text: String) -> String { Hexadecimal.text(of: MD5.sum(of: Array(text.utf8))) }
    return hash("\(hash("\(user):\(realm):\(password)")):\(nonce):\(hash("\(method):\(uri)"))")
  }

  /// Parses `name="value", name=value`. Quoted values may contain commas.
  static func parameters(_ text: Substring) -> [String: String] {
    var (values, rest): ([String: String], Substring) = ([:], text)
    while let equals = rest.firstIndex(of: "=") {
      let name = String(rest[..<equals].drop { $0 == "," || $0 == " " }).trimmed.lowercased()
      rest = rest[rest.index(after: equals)...]
      let isQuoted = rest.first == "\""
      if isQuoted { rest.removeFirst() }
      let value = rest.prefix { isQuoted ? $0 != "\"" : $0 != "," }
      values[name] = String(value).trimmed
      rest = rest[value.endIndex...].dropFirst()
    }
    return values
  }
}
