// Signed links: URLs that show one picture or stream to whoever has them, until a time that they name.
// docs/links.md describes the canonical form, so that other programs can sign.
internal import Cryptography

/// A request's URL in canonical form, with its signature and its end.
///
/// A key signs its own name, a colon and the canonical form. That is the path, a question mark, and the parameters except `sign`, sorted and joined by `&`, each
/// `NAME=VALUE`. Values are percent-decoded first, as routes do, then all bytes but letters, digits, `-`, `.`, `_` and `~`
/// are encoded as `%` and two upper case digits (RFC 3986, 2). The path and names are as they were sent: those of cameras,
/// views and parameters need no encoding.
package struct SignedLink: Sendable, Hashable {
  package static let signParameter = "sign"
  package static let endParameter = "expires"

  /// The canonical form of what is shown, with `expires`; nil for a URL that can't be decoded.
  let canonical: String?
  /// The name of the key and the signature, as sent; empty unless the URL has exactly one `sign`.
  let sign: String
  /// The value of `expires`; nil unless the URL has exactly one.
  package let end: String?

  /// Nil if the URL has neither the parameter `sign` nor `expires`.
  ///
  /// - Parameter url: the path and the query of a request.
  package init?(_ url: String) {
    let bytes = Array(url.utf8)
    let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    let texts = bytes[mark...].dropFirst().split(
      separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    guard texts.contains(where: Self.isPart) else { return nil }
    var (signs, ends, words) = ([String](), [String](), [String]())
    // Routes do not see the bytes after a `#`.
    var isWhole = !bytes.contains(UInt8(ascii: "#"))
    for text in texts {
      guard let (name, value) = Self.word(text) else {
        isWhole = false
        continue
      }
      if name == Self.signParameter { signs.append(value) } else { words.append("\(name)=\(value)") }
      if name == Self.endParameter { ends.append(value) }
    }
    sign = signs.count == 1 ? signs[0] : ""
    end = ends.count == 1 ? ends[0] : nil
    // All of it is ASCII, so that strings are sorted by their bytes.
    let path = String(decoding: bytes[..<mark], as: UTF8.self)
    canonical = isWhole ? "\(path)?\(words.sorted().joined(separator: "&"))" : nil
  }

  /// The name of the key, as the link says.
  package var keyName: String { String(sign.prefix { $0 != "." }) }

  /// The end, in seconds since 1970; nil if the link names none, or no number.
  package var expiry: Int? { end.flatMap { $0.utf8.count <= 12 ? Int($0) : nil } }

  /// Returns whether `key` signed the link; takes constant time.
  package func isSigned(by key: LinkKey) -> Bool {
    guard let canonical, let right = try? Self.signature(of: canonical, by: key) else { return false }
    return Array(right.utf8).isEqualInConstantTime(to: Array(sign.utf8))
  }

  /// Returns the path and query of a link.
  ///
  /// - Parameters:
  ///   - url: the path, and optionally a query, of what the link shows.
  ///   - key: the key that signs.
  ///   - expiry: the end of the link, in seconds since 1970; nil for none.
  /// - Returns: the path, and the query with `expires` and `sign`.
  /// - Throws: `ParameterError` if `url` is not a path, can't be decoded, or already has `sign` or `expires`;
  ///   `CryptographyError`.
  package static func signed(_ url: String, by key: LinkKey, until expiry: Int?) throws -> String {
    // Messages do not repeat the URL, which may contain a secret.
    guard url.hasPrefix("/"), !url.hasPrefix("//"), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !url.contains("#"), !url.prefix(while: { $0 != "?" }).contains("%")
    else {
      throw ParameterError(
        "path",
        "it must be a path such as /cameras/door/main.jpg?width=320, without spaces and #, and without % before the ?"
      )
    }
    guard SignedLink(url) == nil else {
      throw ParameterError("path", "it already has a parameter '\(signParameter)' or '\(endParameter)'")
    }
    let query = url.utf8.drop { $0 != UInt8(ascii: "?") }
    guard !query.dropFirst().split(separator: UInt8(ascii: "&")).contains(where: { isToken(Array($0)[...]) })
    else {
      throw ParameterError("path", "it has a parameter 'token': a link needs none, and must not show one")
    }
    var more = expiry.map { ["\(endParameter)=\($0)"] } ?? []
    let open = url + (query.isEmpty ? "?" : query.count == 1 ? "" : "&")
    // A link with an empty signature has the same canonical form.
    guard let canonical = SignedLink(open + (more + ["\(signParameter)="]).joined(separator: "&"))?.canonical
    else {
      throw ParameterError(
        "path", "its parameters can't be read: names have no %, and a % in a value is followed by two digits")
    }
    more.append("\(signParameter)=\(try signature(of: canonical, by: key))")
    return open + more.joined(separator: "&")
  }

  /// Returns the query of a request without the parameters of a link, and without a token, which has no effect beside it.
  package static func removed(from query: String) -> String {
    let words = Array(query.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    let kept = words.filter { !isPart($0) && !isToken($0) }
    return String(decoding: Array(kept.joined(separator: [UInt8(ascii: "&")])), as: UTF8.self)
  }

  private static func isToken(_ word: ArraySlice<UInt8>) -> Bool {
    let name = word.prefix { $0 != UInt8(ascii: "=") }
    guard name.count == 5 || name.contains(UInt8(ascii: "%")) else { return false }
    return String(decoding: name, as: UTF8.self).percentDecoded.lowercased() == "token"
  }

  /// Whether a word of a query is `sign` or `expires`, with or without a value, however it is written.
  private static func isPart(_ word: ArraySlice<UInt8>) -> Bool {
    let name = word.prefix { $0 != UInt8(ascii: "=") }
    guard name.contains(UInt8(ascii: "%")) else { return parts.contains { name.elementsEqual($0) } }
    return decoded(name).map { name in parts.contains { name.elementsEqual($0) } } ?? false
  }

  private static let parts = [Array(signParameter.utf8), Array(endParameter.utf8)]

  /// Returns the canonical name and value of a word of a query; nil if it is empty or can't be decoded. Routes do not
  /// decode names.
  private static func word(_ text: ArraySlice<UInt8>) -> (name: String, value: String)? {
    let halves = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    guard !text.isEmpty, !halves[0].contains(UInt8(ascii: "%")),
      let value = decoded(halves.count > 1 ? halves[1] : [])
    else {
      return nil
    }
    return (encoded(Array(halves[0])), encoded(value))
  }

  // MARK: The canonical form

  /// HMAC-SHA256 over `KEY:` and the canonical form (RFC 2104), as `KEY.` and base64 for URLs (RFC 4648, 5) without padding.
  static func signature(of canonical: String, by key: LinkKey) throws(CryptographyError) -> String {
    let code = try HashFunction.sha256.authenticationCode(
      of: Array("\(key.name):\(canonical)".utf8), key: Array(key.secret.utf8))
    let text = Base64.encoded(code).filter { $0 != UInt8(ascii: "=") }.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return "\(key.name).\(String(decoding: text, as: UTF8.self))"
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static func encoded(_ bytes: [UInt8]) -> String {
    guard !bytes.allSatisfy(isUnreserved) else { return String(decoding: bytes, as: UTF8.self) }
    var text: [UInt8] = []
    text.reserveCapacity(3 * bytes.count)
    for byte in bytes {
      if isUnreserved(byte) {
        text.append(byte)
      } else {
        text.append(UInt8(ascii: "%"))
        text.append(hexadecimal(byte >> 4))
        text.append(hexadecimal(byte & 15))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") - 10 + digit
  }
}
