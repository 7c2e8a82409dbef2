// The URL of a server's pictures, parsed. It contains the password, which is never displayed.

struct HTTPAddress: Sendable, Hashable, CustomStringConvertible {
  enum Scheme: String, Sendable, Hashable {
    case http
    case https
  }

  struct Credentials: Sendable, Hashable, CustomStringConvertible {
    let user: String
    let password: String

    var description: String { "***" }
  }

  let scheme: Scheme
  /// The host in lower case, without the brackets of an IPv6 address.
  let host: String
  let port: Int
  /// Path and query as sent, beginning with a slash.
  let target: String
  /// The user and password from `USER:PASSWORD@`, percent-decoded.
  let credentials: Credentials?

  /// The server that requests go to. Data that is meant for one server is not sent to another.
  struct Server: Sendable, Hashable {
    let scheme: Scheme
    let host: String
    let port: Int
  }

  var server: Server { Server(scheme: scheme, host: host, port: port) }

  /// The URL without credentials.
  var url: String { "\(scheme.rawValue)://\(hostField)\(target)" }

  /// The `Host` field of requests, without a default port.
  var hostField: String { port == Self.usualPort(scheme) ? hostText : "\(hostText):\(port)" }

  /// The URL for display, without secrets.
  var description: String { Redaction.source(url) }

  private var hostText: String { host.contains(":") ? "[\(host)]" : host }

  private static func usualPort(_ scheme: Scheme) -> Int { scheme == .http ? 80 : 443 }

  /// - Throws: `ParameterError` without a key and without the password.
  init(_ text: String) throws(ParameterError) {
    guard let colon = text.firstIndex(of: ":"), let scheme = Scheme(rawValue: text[..<colon].lowercased())
    else { throw ParameterError("is not an http or https URL") }
    let rest = text[text.index(after: colon)...]
    guard rest.hasPrefix("//") else { throw ParameterError("lacks the // after \(scheme.rawValue):") }
    // Searches by scalars, because a combining mark would make a '/' or '#' a different character.
    let end =
      rest.dropFirst(2).unicodeScalars.firstIndex { "/?#".unicodeScalars.contains($0) } ?? rest.endIndex
    let authority = rest[..<end].dropFirst(2)
    let place = authority.lastIndex(of: "@")
    if let problem = UnencodedPassword.problem(in: text) { throw ParameterError(problem) }
    let (host, port) = try Self.hostAndPort(
      place.map { authority[authority.index(after: $0)...] } ?? authority)
    self.scheme = scheme
    self.host = host
    self.port = port ?? Self.usualPort(scheme)
    credentials = try place.map { (place) throws(ParameterError) in try Self.credentials(authority[..<place])
    }
    target = Self.target(rest[end...])
  }

  private init(_ scheme: Scheme, _ server: Server, _ target: String, _ credentials: Credentials?) {
    self.scheme = scheme
    host = server.host
    port = server.port
    self.target = target
    self.credentials = credentials
  }

  /// Returns the target of a redirect. Credentials are passed on only to a server that `isTrusted` accepts.
  func following(_ location: String) throws(ParameterError) -> HTTPAddress {
    let location = location.trimmed
    if location.hasPrefix("//") { return try following("\(scheme.rawValue):\(location)") }
    if let colon = location.firstIndex(of: ":"), !location[..<colon].contains(where: { "/?#".contains($0) }) {
      let there = try HTTPAddress(location)
      return HTTPAddress(
        there.scheme, there.server, there.target, isTrusted(there.server) ? credentials : nil)
    }
    let path = target.prefix { $0 != "?" }
    let merged: String =
      switch location.first {
      case "/": location
      case "?": String(path) + location
      case nil, "#": target
      default: String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) + location
      }
    return HTTPAddress(scheme, server, Self.target(Self.withoutDots(merged)[...]), credentials)
  }

  /// Returns whether `other` may get data that is meant for this server: it is the same server, or the same
  /// host over TLS on the default ports.
  func isTrusted(_ other: Server) -> Bool {
    other == server
      || (other.host == host && scheme == .http && other.scheme == .https && port == 80 && other.port == 443)
  }

  // MARK: Parts

  static func hostAndPort(_ text: Substring) throws(ParameterError) -> (String, Int?) {
    var host = text
    var port: Substring?
    if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { throw ParameterError("lacks a ]") }
      host = text[..<bracket].dropFirst()
      let rest = text[text.index(after: bracket)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { throw ParameterError("has no port after the ]") }
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
        throw ParameterError("has no IPv6 address in its brackets")
      }
    } else if let colon = text.lastIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !host.isEmpty else { throw ParameterError("names no host") }
    let isPlain = host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-.:_".contains($0)) }
    guard isPlain, text.hasPrefix("[") || !host.contains(":") else {
      throw ParameterError("has no host name: letters, digits, '-' and '.', others as xn--")
    }
    guard let port, !port.isEmpty else { return (host.lowercased(), nil) }
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(port),
      (1...65535).contains(number)
    else { throw ParameterError("has an invalid port") }
    return (host.lowercased(), number)
  }

  static func credentials(_ text: Substring) throws(ParameterError) -> Credentials {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = decoded(parts[0]), let password = decoded(parts.count > 1 ? parts[1] : "") else {
      throw ParameterError("has a user or a password that can't be decoded: \(UnencodedPassword.advice)")
    }
    return Credentials(user: user, password: password)
  }

  /// Percent-decodes a text; nil if that is not possible.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    // Control characters are not allowed in headers and challenges.
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns path and query without the fragment. Characters that are not allowed are percent-encoded.
  private static func target(_ text: Substring) -> String {
    let bytes = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    var result = bytes.first == UInt8(ascii: "/") ? "" : "/"
    for byte in bytes {
      if byte > 0x20, byte < 0x7F, !"\"<>\\^`{|}[]".utf8.contains(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += "%" + byte.digits(2, radix: 16, uppercase: true)
      }
    }
    return result
  }

  /// Removes `.` and `..` from a path (RFC 3986, 5.2.4). The query does not change.
  private static func withoutDots(_ target: String) -> String {
    let path = target.prefix { $0 != "?" }
    var parts: [Substring] = []
    let all = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for part in all {
      if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(part) }
    }
    if all.last == "." || all.last == ".." { parts.append("") }
    return "/" + parts.joined(separator: "/") + target.dropFirst(path.count)
  }
}
