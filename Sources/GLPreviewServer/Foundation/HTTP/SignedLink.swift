// Signed links: URLs that show one picture or stream to whoever has them, until a time that they name.
// docs/links.md describes the canonical form, so that other programs can sign.
internal import Cryptography

/// A request's URL in canonical form, with its signature and its end.
///
/// The canonical form is the path, a question mark, and the parameters except `sign`, sorted and joined by `&`, each
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
    let (path, words) = (String(decoding: bytes[..<mark], as: UTF8.self), texts.compactMap(Self.word))
    let (signs, ends) = (
      words.filter { $0.name == Self.signParameter }, words.filter { $0.name == Self.endParameter }
    )
    sign = signs.count == 1 ? signs[0].value : ""
    end = ends.count == 1 ? ends[0].value : nil
    // Routes do not see the bytes after a `#`.
    let isWhole = words.count == texts.count && !bytes.contains(UInt8(ascii: "#"))
    canonical = isWhole ? Self.joined(path, words.filter { $0.name != Self.signParameter }) : nil
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
      throw ParameterError("it must be a path such as /cameras/door/main.jpg?width=320, without % and #")
    }
    guard SignedLink(url) == nil else {
      throw ParameterError("it already has a parameter '\(signParameter)' or '\(endParameter)'")
    }
    let names = url.drop { $0 != "?" }.dropFirst().split(separator: "&").map { $0.prefix { $0 != "=" } }
    guard !names.contains(where: { String($0).percentDecoded.lowercased() == "token" }) else {
      throw ParameterError("it has a parameter 'token': a link needs none, and must not show one")
    }
    var words = expiry.map { ["\(endParameter)=\($0)"] } ?? []
    let open = url + (url.contains("?") ? (url.hasSuffix("?") ? "" : "&") : "?")
    // A link with an empty signature has the same canonical form.
    guard let canonical = SignedLink(open + (words + ["\(signParameter)="]).joined(separator: "&"))?.canonical
    else {
      throw ParameterError(
        "its parameters can't be read: names have no %, and a % in a value is followed by two digits")
    }
    words.append("\(signParameter)=\(try signature(of: canonical, by: key))")
    return open + words.joined(separator: "&")
  }

  /// The query of a request without the parameters of a link.
  package static func removed(from query: String) -> String {
    query.split(separator: "&", omittingEmptySubsequences: false).filter { !isPart(Array($0.utf8)[...]) }
      .joined(separator: "&")
  }

  /// Whether a word of a query is `sign` or `expires`, with or without a value.
  private static func isPart(_ word: ArraySlice<UInt8>) -> Bool {
    let name = decoded(word.prefix { $0 != UInt8(ascii: "=") })
    return name.map { [signParameter, endParameter].contains(String(decoding: $0, as: UTF8.self)) } ?? false
  }

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

  /// HMAC-SHA256 over the canonical form (RFC 2104), as `KEY.` and base64 for URLs (RFC 4648, 5) without padding.
  static func signature(of canonical: String, by key: LinkKey) throws(CryptographyError) -> String {
    let code = try HashFunction.sha256.authenticationCode(
      of: Array(canonical.utf8), key: Array(key.secret.utf8))
    let text = Base64.encoded(code).filter { $0 != UInt8(ascii: "=") }.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return "\(key.name).\(String(decoding: text, as: UTF8.self))"
  }

  private static func joined(_ path: String, _ words: [(name: String, value: String)]) -> String {
    let sorted = words.map { "\($0.name)=\($0.value)" }.sorted {
      Array($0.utf8).lexicographicallyPrecedes($1.utf8)
    }
    return "\(path)?\(sorted.joined(separator: "&"))"
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
    var text: [UInt8] = []
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        text.append(byte)
      default: text += [UInt8(ascii: "%"), hexadecimal(byte >> 4), hexadecimal(byte & 15)]
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") - 10 + digit
  }
}
