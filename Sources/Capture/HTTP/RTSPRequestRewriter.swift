// What FFmpeg says to the loopback end of a tunnel, as it would say it to the camera itself.

/// An `rtsps://` address in its parts.
struct RTSPSAddress: Sendable {
  /// In lower case, without the brackets of an IPv6 address.
  let host: String
  let port: Int
  /// Percent-decoded; nil without user.
  let credentials: HTTPAddress.Credentials?
  /// `USER:PASSWORD@` as written; empty without user.
  private let user: Substring
  /// Path, query and fragment as written.
  private let rest: Substring

  /// - Throws: `WordError` without the password.
  init(_ text: String) throws(WordError) {
    guard let slashes = text.firstRange(of: "://") else { throw WordError("has no host") }
    let all = text[slashes.upperBound...]
    // By scalars, because a combining mark would make a '/' a different character.
    let end = all.unicodeScalars.firstIndex { "/?#".unicodeScalars.contains($0) } ?? all.endIndex
    let authority = all[..<end]
    let at = authority.lastIndex(of: "@")
    user = at.map { authority[...$0] } ?? ""
    rest = all[end...]
    let (host, port) = try HTTPAddress.hostAndPort(
      at.map { authority[authority.index(after: $0)...] } ?? authority)
    self.host = host
    self.port = port ?? 322
    credentials = try at.map { (at) throws(WordError) in try HTTPAddress.credentials(authority[..<at]) }
  }

  /// Scheme, host and port of requests, as FFmpeg writes them.
  var origin: String { "rtsps://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// The address for FFmpeg at a loopback port. `secret` is the beginning of its path.
  func local(port: Int, secret: String) -> String { "rtsp://\(user)127.0.0.1:\(port)/\(secret)\(rest)" }
}

/// Reads what a client sends to the loopback end, and gives what is sent on.
///
/// URIs get the camera's scheme, host and port; the answer to a challenge is computed again with that URI, which servers
/// may compare (RFC 7616, 3.4.6). Other programs of this machine can connect as well. They do not know the secret in the
/// path of the client's URIs, and nothing of theirs is sent on.
struct RTSPRequestRewriter: Sendable {
  static let headLimit = 64 << 10

  /// What the client's URIs begin with: scheme, host, port and secret.
  private let local: String
  private let remote: RTSPSAddress
  private var waiting: [UInt8] = []
  /// Bytes of a message's body that follow.
  private var body = 0
  private var isKnown = false
  private var isRefused = false

  init(from local: String, to remote: RTSPSAddress) {
    self.local = local
    self.remote = remote
  }

  /// Takes bytes as they arrive. Nil once they are no client's that knows the secret, and for heads that are too long.
  mutating func take(_ bytes: some Collection<UInt8>) -> [UInt8]? {
    guard !isRefused else { return nil }
    waiting += bytes
    var result: [UInt8] = []
    while !waiting.isEmpty, let count = nextCount() {
      let next = Array(waiting[..<count])
      waiting.removeFirst(count)
      if body > 0 {
        body -= count
        result += next
      } else if next.first == UInt8(ascii: "$") {
        result += next
      } else {
        result += rewritten(next)
      }
      guard isKnown else { break }
    }
    isRefused =
      !isKnown && !(result.isEmpty && waiting.count <= Self.headLimit) || waiting.count > Self.headLimit + 4
    return isRefused ? nil : result
  }

  /// The length of what can be taken: some of a body, a packet within the connection (RFC 2326, 10.12), or a message's
  /// head. Nil while it is not complete.
  private func nextCount() -> Int? {
    if body > 0 { return min(body, waiting.count) }
    if waiting[0] == UInt8(ascii: "$") {
      guard waiting.count >= 4 else { return nil }
      let count = 4 + Int(waiting[2]) << 8 + Int(waiting[3])
      return waiting.count >= count ? count : nil
    }
    return waiting.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
  }

  private mutating func rewritten(_ head: [UInt8]) -> [UInt8] {
    guard let text = String(validating: head, as: UTF8.self) else { return head }
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else { return head }
    var uri = String(words[1])
    if uri.hasPrefix(local) {
      isKnown = true
      uri = remote.origin + uri.dropFirst(local.count)
    }
    lines[0] = "\(words[0]) \(uri) \(words[2])"
    for (index, line) in lines.enumerated().dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].trimmed
      switch line[..<colon].lowercased() {
      case "authorization": lines[index] = "Authorization: " + signed(value, "\(words[0])", uri)
      case "content-length": body = min(max(Int(value) ?? 0, 0), 1 << 30)
      default: break
      }
    }
    return Array(lines.joined(separator: "\r\n").utf8)
  }

  /// A digest of a request, for its new URI; another field unchanged.
  private func signed(_ field: String, _ method: String, _ uri: String) -> String {
    /// As written, because FFmpeg escapes nothing.
    func parameter(_ name: String) -> String? {
      guard let start = field.firstRange(of: " \(name)=")?.upperBound else { return nil }
      let rest = field[start...]
      return String(rest.first == "\"" ? rest.dropFirst().prefix { $0 != "\"" } : rest.prefix { $0 != "," })
    }
    guard field.hasPrefix("Digest "), let credentials = remote.credentials, let nonce = parameter("nonce"),
      let oldURI = parameter("uri"), let response = parameter("response"),
      let algorithm = DigestAlgorithm(parameter("algorithm"))
    else { return field }
    let clientNonce = parameter("cnonce") ?? ""
    let quality = parameter("qop").map { "\(parameter("nc") ?? ""):\(clientNonce):\($0)" }
    let newResponse = algorithm.response(
      of: credentials, realm: parameter("realm") ?? "", nonce: nonce, request: "\(method):\(uri)",
      clientNonce: clientNonce, quality: quality)
    return field.replacing(" uri=\"\(oldURI)\"", with: " uri=\"\(uri)\"", maxReplacements: 1)
      .replacing(" response=\"\(response)\"", with: " response=\"\(newResponse)\"", maxReplacements: 1)
  }
}
