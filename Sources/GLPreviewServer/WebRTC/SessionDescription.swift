// SDP (RFC 8866) as far as WebRTC's offers need it: lines, sections, and their attributes.

/// The lines of a session description, by section. Invalid SDP is an error. Unknown attributes are stored,
/// unknown lines are ignored.
struct SessionDescription: Sendable, Hashable {
  struct Attribute: Sendable, Hashable {
    let name: Substring
    /// Empty for a flag.
    let value: Substring
  }

  /// An `m=` line, and what belongs to it.
  struct Media: Sendable, Hashable {
    let kind: Substring
    let port: Substring
    let transport: Substring
    let formats: [Substring]
    var attributes: [Attribute] = []
  }

  private(set) var attributes: [Attribute] = []
  private(set) var media: [Media] = []

  /// Far more than browsers send, and quick to parse.
  static let mostBytes = 64 << 10
  private static let mostLines = 4096
  private static let mostMedia = 64

  init(_ text: String) throws(SDPError) {
    guard text.utf8.count <= Self.mostBytes else { throw SDPError("the offer is larger than 64 KiB") }
    let lines = text.split(whereSeparator: \.isNewline)
    guard lines.count <= Self.mostLines else { throw SDPError("the offer has more than 4096 lines") }
    guard lines.first?.hasPrefix("v=0") == true else { throw SDPError("SDP must begin with v=0") }
    for line in lines {
      guard line.utf8.count >= 2, line.utf8.dropFirst().first == UInt8(ascii: "=") else {
        throw SDPError("'\(line.prefix(40))' is not a line of SDP")
      }
      let value = line.dropFirst(2)
      switch line.utf8.first {
      case UInt8(ascii: "m"):
        guard media.count < Self.mostMedia else { throw SDPError("the offer has more than 64 m-lines") }
        media.append(try Self.media(value))
      case UInt8(ascii: "a"):
        let halves = value.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let attribute = Attribute(
          name: halves.first ?? "", value: halves.count == 2 ? halves[1].trimmed[...] : "")
        if media.isEmpty {
          attributes.append(attribute)
        } else {
          media[media.count - 1].attributes.append(attribute)
        }
      default: break
      }
    }
  }

  private static func media(_ value: Substring) throws(SDPError) -> Media {
    let words = value.split(separator: " ")
    guard words.count >= 4, words.allSatisfy({ $0.allSatisfy(\.isPrintableASCII) }) else {
      throw SDPError("'m=\(value.prefix(40))' is not an m-line")
    }
    return Media(kind: words[0], port: words[1], transport: words[2], formats: Array(words[3...]))
  }

  /// The groups of m-lines that share a transport, by their `mid`s (RFC 9143).
  var bundles: [[Substring]] {
    attributes.filter { $0.name == "group" }.map { $0.value.split(separator: " ") }
      .filter { $0.first == "BUNDLE" }.map { Array($0.dropFirst()) }
  }

  /// The first attribute of a name: of the section, or else of the session.
  func value(of name: String, in media: Media) -> Substring? {
    let isNamed = { (attribute: Attribute) in attribute.name == name }
    return (media.attributes.first(where: isNamed) ?? attributes.first(where: isNamed))?.value
  }

  /// The values of all attributes of a name: of the section, or if there are none there, of the session.
  func values(of name: String, in media: Media) -> [Substring] {
    let own = media.values(of: name)
    return own.isEmpty ? attributes.filter { $0.name == name }.map(\.value) : own
  }
}

extension SessionDescription.Media {
  func values(of name: String) -> [Substring] { attributes.filter { $0.name == name }.map(\.value) }
}

/// Why an offer can't be answered.
struct SDPError: Error, Hashable {
  let reason: String
  /// Whether the offer is valid, but asks for something that is not supported.
  let isRefusal: Bool

  init(_ reason: String, isRefusal: Bool = false) {
    (self.reason, self.isRefusal) = (reason, isRefusal)
  }
}

extension Character {
  /// Whether a token of SDP may contain it.
  var isPrintableASCII: Bool { isASCII && ("!"..."~").contains(self) }
}
