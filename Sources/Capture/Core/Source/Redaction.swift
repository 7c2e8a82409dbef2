// Removes secrets from source names. Every message, log line, event and response that names a source goes
// through here. Addresses are recognised by their form, even if they are invalid, because a mistyped one
// contains the same password.

/// Removes secrets from names and messages. Redacting twice changes nothing.
///
/// In case of doubt, a part is hidden: everything before the last `@`, all query values that are not known to
/// be harmless, the path after an RTMP application, the arguments of a command. File paths are not changed.
package enum Redaction {
  private static let mark = "***"

  /// Returns a source's name, in the form that `SourceLocator` accepts, without secrets.
  package static func source(_ text: String) -> String {
    let text = text.withPlainSigns
    let start = text.firstIndex { !$0.isWhitespace } ?? text.endIndex
    let name = text[start...]
    if let command = name.dropScheme("exec") { return text[..<start] + "exec:" + program(of: command) }
    if name.dropScheme("pattern") != nil { return text }
    if name.hasAddressScheme { return text[..<start] + address(name) }
    return message(text.contains("://") ? text : path(text))
  }

  /// Returns a text without the secrets in its addresses, and without the texts of `secrets`.
  package static func message(_ text: String, hiding secrets: [String] = []) -> String {
    var text = text.withPlainSigns
    // Longest first, because one may be part of another.
    for secret in secrets.sorted(by: { $0.utf8.count > $1.utf8.count }) where secret.utf8.count >= shortest {
      text = text.replacing(secret, with: mark)
    }
    guard text.contains("://") else { return text }
    var result = ""
    var rest = text[...]
    while let colon = rest.firstRange(of: "://") {
      let before = rest[..<colon.lowerBound]
      let scheme = before.reversed().prefix(while: \.isInScheme).count
      let start = before.index(before.endIndex, offsetBy: -scheme)
      let end = rest[colon.upperBound...].firstIndex { $0.isWhitespace || $0 == "\"" } ?? rest.endIndex
      // Punctuation after an address belongs to the sentence.
      let tail = rest[colon.upperBound..<end].reversed().prefix { ",.;:!?)'`".contains($0) }.count
      let last = rest.index(end, offsetBy: -tail)
      result += rest[..<start] + address(rest[start..<last]) + rest[last..<end]
      rest = rest[end...]
    }
    return result + rest
  }

  /// Returns the parts of an address that `source` hides, both as written and percent-decoded, because a
  /// server may repeat them.
  package static func secrets(in text: String) -> [String] {
    guard text.contains("://") || text[...].hasAddressScheme, let colon = text.firstIndex(of: ":") else {
      return []
    }
    var words: [Substring] = []
    var rest = text[text.index(after: colon)...].drop { $0 == "/" }
    if let at = rest.lastIndex(of: "@") {
      words += rest[..<at].split(separator: ":", maxSplits: 1).dropFirst()
      rest = rest[rest.index(after: at)...]
    }
    let shown = Set(source(text).split(whereSeparator: \.isSeparator))
    words += rest.split(whereSeparator: \.isSeparator).filter { !shown.contains($0) }
    return words.flatMap { [String($0), String($0).percentDecoded] }
  }

  /// The shortest secret that is removed, in bytes. Shorter ones reveal little and occur in too many texts.
  private static let shortest = 4

  // MARK: Parts

  /// Returns the name of a command's program, without the arguments, which may contain anything.
  private static func program(of command: Substring) -> String {
    // NAME=VALUE before the program sets an environment variable.
    let words = command.split(whereSeparator: \.isWhitespace)
    let first = words.first { !$0.contains("=") } ?? ""
    let name = first.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "_./+-".contains($0)) }
    guard words.count > 1 || name != first || first.isEmpty && !words.isEmpty else { return String(name) }
    return name.isEmpty || name == "..." ? "..." : "\(name) ..."
  }

  /// Redacts a path. A part like `USER:PASSWORD@HOST` is treated as an address without a scheme.
  private static func path(_ text: String) -> String {
    let end = text.firstIndex(of: "?") ?? text.endIndex
    let parts = text[..<end].split(separator: "/", omittingEmptySubsequences: false).map {
      part -> Substring in
      guard let colon = part.firstIndex(of: ":"), let at = part.lastIndex(of: "@"), colon < at else {
        return part
      }
      return mark + part[at...]
    }
    let query = text[end...]
    return parts.joined(separator: "/") + (query.contains("=") ? "?" + values(query.dropFirst()) : query)
  }

  private static func address(_ text: Substring) -> String {
    guard let colon = text.firstIndex(of: ":") else { return String(text) }
    var rest = text[text.index(after: colon)...].drop { $0 == "/" || $0 == "\\" }
    var result = String(text[..<rest.startIndex])
    // An unescaped password may contain any character, so only the last @ reliably ends it.
    if let at = rest.lastIndex(of: "@") {
      result += at > rest.startIndex ? mark + "@" : "@"
      rest = rest[rest.index(after: at)...]
    }
    let host = rest.prefix { !"/?#".contains($0) }
    result += hostAndPort(host)
    rest = rest[host.endIndex...]
    let path = rest.prefix { !"?#".contains($0) }
    result += text.lowercased().hasPrefix("rtmp") ? streamPath(path) : pairs(path)
    rest = rest[path.endIndex...]
    let query = rest.prefix { $0 != "#" }
    if !query.isEmpty { result += "?" + values(query.dropFirst()) }
    rest = rest[query.endIndex...]
    return rest.isEmpty ? result : result + "#" + values(rest.dropFirst())
  }

  /// Redacts a host and port. A port that is not a number may be a password whose host is missing.
  private static func hostAndPort(_ text: Substring) -> String {
    guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else { return String(text) }
    let port = text[text.index(after: colon)...]
    return port.allSatisfy(\.isNumber) ? String(text) : text[...colon] + mark
  }

  /// Redacts the path of an RTMP address. The stream key follows the application's name.
  private static func streamPath(_ path: Substring) -> String {
    let parts = path.split(separator: "/")
    guard parts.count > 1 else { return pairs(path) }
    return "/" + pairs(parts[0]) + "/" + mark
  }

  /// Redacts the fields of a query or a fragment. A field without a name may itself be a secret.
  private static func values(_ query: Substring) -> String {
    var result = ""
    var rest = query
    while true {
      let field = rest.prefix { $0 != "&" && $0 != ";" }
      let sides = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = sides.count > 1 ? sides[1] : ""
      if value.allSatisfy({ $0 == "=" }) {
        result += field.isEmpty || harmless.contains(sides[0].lowercased()) ? String(field) : mark
      } else {
        result += "\(sides[0])=\(shown(value, of: sides[0]))"
      }
      rest = rest[field.endIndex...]
      guard let separator = rest.popFirst() else { return result }
      result.append(separator)
    }
  }

  /// Redacts a path that contains values: `user=admin_password=1234_channel=1_stream=0.sdp`.
  private static func pairs(_ path: Substring) -> String {
    guard path.contains("=") else { return String(path) }
    var result = ""
    var rest = path
    while let equals = rest.firstIndex(of: "=") {
      let key = rest[..<equals]
      result += key + "="
      rest = rest[rest.index(after: equals)...]
      var value = rest.prefix { !"/;&,".contains($0) }
      // Another key may follow a "_": the last "_" before the next "=" ends the value.
      if let next = value.firstIndex(of: "="), let end = value[..<next].lastIndex(of: "_") {
        value = value[..<end]
      }
      let word = key.reversed().prefix { $0.isLetter || $0.isNumber }.reversed()
      result += shown(value, of: Substring(String(word)))
      rest = rest[value.endIndex...]
    }
    return result + rest
  }

  private static func shown(_ value: Substring, of key: Substring) -> Substring {
    let isShort =
      value.utf8.count <= 16
      && value.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-".contains($0)) }
    return isShort && harmless.contains(key.lowercased()) ? value : Substring(mark)
  }

  /// Keys whose values describe a picture, a stream or a connection, and never a person.
  private static let harmless: Set<String> = [
    "action", "audio", "camera", "ch", "channel", "codec", "compression", "format", "fps", "framerate", "h",
    "height", "latency", "mode", "pkt_size", "port", "profile", "quality", "resolution", "rotation", "size",
    "stream", "subtype", "timeout", "transport", "ttl", "type", "unicast", "video", "videocodec", "w",
    "width",
  ]

  /// Schemes that are recognised even without slashes after the colon.
  fileprivate static let schemes: Set<String> = [
    "http", "https", "rtsp", "rtsps", "rtmp", "rtmps", "srt", "udp",
  ]
}

extension Substring {
  /// Returns the text after `scheme:` in any letter case; nil if it does not begin with that.
  fileprivate func dropScheme(_ scheme: String) -> Substring? {
    guard let colon = firstIndex(of: ":"), self[..<colon].lowercased() == scheme else { return nil }
    return self[index(after: colon)...]
  }

  fileprivate var hasAddressScheme: Bool {
    let scheme = prefix(while: \.isInScheme)
    let rest = self[scheme.endIndex...]
    return rest.hasPrefix("://") || rest.hasPrefix(":") && Redaction.schemes.contains(scheme.lowercased())
  }
}

extension String {
  /// The text without combining marks on symbols: `=` with a mark is a different `Character`, but a server
  /// still sees the `=`.
  fileprivate var withPlainSigns: String {
    func isSign(_ scalar: Unicode.Scalar) -> Bool {
      scalar.isASCII && !scalar.properties.isAlphabetic && scalar.properties.numericType == nil
    }
    func isMixed(_ character: Character) -> Bool {
      let scalars = character.unicodeScalars
      return scalars.count > 1 && scalars.contains(where: isSign) && !scalars.allSatisfy(\.isASCII)
    }
    guard contains(where: isMixed) else { return self }
    return String(
      flatMap {
        isMixed($0) ? String(String.UnicodeScalarView($0.unicodeScalars.filter(\.isASCII))) : String($0)
      })
  }

  /// The text, percent-decoded where possible.
  package var percentDecoded: String {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Character {
  fileprivate var isInScheme: Bool { isASCII && (isLetter || isNumber || "+-.".contains(self)) }

  /// Whether it separates the parts of an address.
  fileprivate var isSeparator: Bool { "/?#&;=,".contains(self) }
}
