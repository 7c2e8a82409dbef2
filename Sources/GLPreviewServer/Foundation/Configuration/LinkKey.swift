// The keys by which links to pictures are signed, and where links point.
internal import FoundationEssentials

/// A key of signed links. Every holder of the secret can create links to the pictures of its cameras.
package struct LinkKey: Sendable, Hashable, CustomStringConvertible {
  /// The name in links.
  package var name: String
  /// At least 32 characters, which sign and verify.
  package var secret: String
  /// The names of the cameras and scenes that links may show; empty for all.
  package var cameras: [String] = []
  /// Whether links without an end are valid.
  package var allowsForever = false

  package init(name: String, secret: String = "") { (self.name, self.secret) = (name, secret) }

  /// Reads the secret from a file, as the configuration does. A relative path refers to the working folder.
  ///
  /// - Throws: `ParameterError` for a bad name, or a file that can't be read or is too short.
  package init(name: String, secretFile: String, allowsForever: Bool) throws {
    guard Self.isName(name) else { throw ParameterError("'\(name)' is not 1 to 32 letters, digits, - and _") }
    self.init(
      name: name,
      secret: try ConfigurationKeys.linkSecret.inFile.read(
        secretFile, FileManager.default.currentDirectoryPath))
    self.allowsForever = allowsForever
  }

  package var description: String { "\(name):***" }

  /// Returns whether links may show the camera or scene `name`.
  package func includes(camera name: String) -> Bool { cameras.isEmpty || cameras.contains(name) }

  /// The fewest characters of a secret. 32 random hexadecimal digits have 128 bits.
  package static let shortest = 32

  /// Whether `name` may name a key: 1 to 32 letters, digits, `-` and `_`.
  package static func isName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        ("0"..."9").contains(UnicodeScalar($0)) || ("A"..."Z").contains(UnicodeScalar($0))
          || ("a"..."z").contains(UnicodeScalar($0)) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      }
  }
}

/// The address at which people reach the service, perhaps through a proxy.
package struct PublicURL: Sendable, Hashable, CustomStringConvertible {
  /// The URL, its host in lower case, without a slash at its end.
  package let text: String
  /// Its host in lower case, without a port.
  package let host: String

  /// Nil unless `text` is `http://HOST` or `https://HOST`, with an optional port and path, without a user, query or
  /// fragment.
  package init?(_ text: String) {
    let halves = text.split(separator: "://", maxSplits: 1)
    guard halves.count == 2, ["http", "https"].contains(halves[0].lowercased()) else { return nil }
    let authority = halves[1].prefix { $0 != "/" }
    let name =
      authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
    let port = authority.dropFirst(name.count)
    let isPort = port.isEmpty || port.first == ":" && (UInt16(port.dropFirst()) ?? 0) > 0
    let isHost = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._[:]".contains($0)) }
    let isPath = halves[1].allSatisfy { $0.isASCII && !$0.isWhitespace && !"?#@\"\\".contains($0) }
    guard !name.isEmpty, isPort, isHost, isPath else { return nil }
    let origin = "\(halves[0])://\(authority)"
    var path = text.dropFirst(origin.count)
    while path.hasSuffix("/") { path.removeLast() }
    self.text = origin.lowercased() + path
    host = name.lowercased()
  }

  /// Returns the scheme, host and port of a URL.
  package static func origin(of url: String) -> Substring {
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    return url[..<(url[start...].firstIndex(of: "/") ?? url.endIndex)]
  }

  package var description: String { text }
}
