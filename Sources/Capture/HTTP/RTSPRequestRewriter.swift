// Rewrites FFmpeg's requests to the loopback end of a tunnel, as if FFmpeg had sent them to the camera
// itself.

/// A parsed `rtsps://` address.
struct RTSPSAddress: Sendable {
  /// The host in lower case, without the brackets of an IPv6 address.
  let host: String
  let port: Int
  /// The user and password, percent-decoded; nil without a user.
  let credentials: HTTPAddress.Credentials?
  /// `USER:PASSWORD@` as written; empty without a user.
  private let user: Substring
  /// Path, query and fragment as written.
  private let rest: Substring

  /// - Throws: `ParameterError` without the password.
  init(_ text: String) throws(ParameterError) {
    guard let slashes = text.firstRange(of: "://") else { throw ParameterError("has no host") }
    let all = text[slashes.upperBound...]
    // Searches by scalars, because a combining mark would make a '/' a different character.
    let end = all.unicodeScalars.firstIndex { "/?#".unicodeScalars.contains($0) } ?? all.endIndex
    let authority = all[..<end]
    let at = authority.lastIndex(of: "@")
    user = at.map { authority[...$0] } ?? ""
    rest = all[end...]
    let (host, port) = try HTTPAddress.hostAndPort(
      at.map { authority[authority.index(after: $0)...] } ?? authority)
    self.host = host
    self.port = port ?? 322
    credentials = try at.map { (at) throws(ParameterError) in try HTTPAddress.credentials(authority[..<at]) }
  }

  /// Scheme, host and port of requests, as FFmpeg writes them.
  var origin: String { "rtsps://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// Returns the address for FFmpeg at a loopback port. `secret` is the first part of its path.
  func local(port: Int, secret: String) -> String { "rtsp://\(user)127.0.0.1:\(port)/\(secret)\(rest)" }
}

/// Reads what a client sends to the loopback end, and returns what to send to the camera.
///
/// URIs get the camera's scheme, host and port. The response to a challenge is computed again for that URI,
/// because servers may compare it (RFC 7616, 3.4.6). Other programs on this machine can connect too. They do
/// not know the secret in the path of the client's URIs, and none of their data is forwarded.
struct RTSPRequestRewriter: Sendable {
  static let headLimit = 64 << 10

  /// The beginning of the client's URIs: scheme, host, port and secret.
  private let local: String
  private let remote: RTSPSAddress
  private var waiting: [UInt8] = []
  /// The number of bytes of a message's body that are still to come.
  private var body = 0
  private var isKnown = false
  private var isRefused = false

  init(from local: String, to remote: RTSPSAddress) {
    self.local = local
    self.remote = remote
  }

  /// Takes bytes as they arrive; returns rewritten bytes. Returns nil once the client is known not to have
  /// the secret, and if a head is too long.
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

  /// Returns the number of bytes that can be processed: a part of a body, an interleaved packet (RFC 2326,
  /// 10.12), or the head of a message. Nil while that is incomplete.
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

  /// Computes a request's digest for its new URI. Returns other fields unchanged.
  private func signed(_ field: String, _ method: String, _ uri: String) -> String {
    /// Returns a parameter as written, because FFmpeg escapes nothing.
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
