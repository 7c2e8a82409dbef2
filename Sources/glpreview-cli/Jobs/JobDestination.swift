// The destinations of a job's pictures.
import FoundationEssentials
import GLPreview
import NATS

/// The destination in a job's `to`.
enum JobDestination: Equatable, Sendable {
  /// Files below the worker's folder. {view} in the pattern is not replaced yet.
  case files(FileNamePattern, EncodedPicture.Format)
  /// Objects that are sent to a server by PUT.
  case objects(FileNamePattern, EncodedPicture.Format)
  /// Messages to a subject.
  case replies(String, EncodedPicture.Format)

  private static let subjectScheme = "reply:"
  /// The most folder levels in a file's path.
  private static let deepest = 32

  /// Parses a job's destination: a path or an http:// or https:// address, in which {name}, {index} and
  /// {view} are replaced, or `reply:SUBJECT`.
  ///
  /// - Throws: `UsageError` or `ParameterError`.
  init(_ job: Job, _ options: JobOptions, views: [ViewConfiguration], prefix: String) throws {
    let format = options.encodingOptions.format
    if job.to.hasPrefix(Self.subjectScheme) {
      let subject = String(job.to.dropFirst(Self.subjectScheme.count))
      try Self.check(subject, prefix)
      self = .replies(subject, try Self.picture(format ?? .picture(.jpeg), job.to))
    } else if Self.isAddress(job.to) {
      let address = try Self.address(job.to)
      let path = String(job.to.prefix { $0 != "?" })
      guard let named = OutputFormat(fileName: path) ?? format else {
        throw UsageError("the address does not end in .jpg, .jpeg or .png; use --format")
      }
      guard !address.hasFrame, format == nil || format == named else {
        throw UsageError("\(job.to.redactedAddress): {frame} or --format does not fit the address")
      }
      let name = RenderOutput.stem(of: job.source).percentEncoded
      let pattern = try FileNamePattern(job.to, name: name, index: job.index ?? 1)
      self = .objects(pattern, try Self.picture(named, job.to.redactedAddress))
    } else {
      let output = try RenderOutput(job.to, source: job.source, index: job.index ?? 1, format: format)
      guard case .files(let pattern, let format) = output else {
        throw UsageError("\(job.to): jobs make picture files, such as {name}.jpg")
      }
      for view in views { try Self.check(path: pattern.name(view: view.name, frame: 0), job.to) }
      self = .files(pattern, format)
    }
    try checkViews(views)
  }

  static func isAddress(_ text: String) -> Bool {
    let start = text.prefix(8).lowercased()
    return start.hasPrefix("http://") || start == "https://"
  }

  /// The format of the pictures.
  var format: EncodedPicture.Format {
    switch self {
    case .files(_, let format), .objects(_, let format), .replies(_, let format): format
    }
  }

  /// Returns the names of a job's pictures, one for each view. Subjects are not unique.
  func names(_ views: [ViewConfiguration]) -> [String] {
    switch self {
    case .files(let pattern, _): views.map { pattern.name(view: $0.name, frame: 0) }
    case .objects(let pattern, _):
      views.map { pattern.name(view: $0.name.percentEncoded, frame: 0) }
    case .replies(let subject, _): views.map { _ in subject }
    }
  }

  private static func check(path: String, _ to: String) throws {
    guard RootFolder.isRelative(path) else { throw UsageError("\(to) is not a relative path without '..'") }
    guard path == path.onOneLine else { throw UsageError("\(path) has a control character") }
    guard path.utf8.count(where: { $0 == UInt8(ascii: "/") }) <= deepest else {
      throw UsageError("\(to) is more than \(deepest) folders deep")
    }
  }

  private func checkViews(_ views: [ViewConfiguration]) throws {
    switch self {
    case .files(let pattern, _) where views.count > 1 && !pattern.hasView,
      .objects(let pattern, _) where views.count > 1 && !pattern.hasView:
      throw UsageError("\(views.count) views would get the same name; put {view} into it")
    default: break
    }
  }

  /// Checks that a subject is for replies. A worker may have permission to publish to other subjects, which a
  /// job's author must not reach.
  private static func check(_ subject: String, _ prefix: String) throws {
    let isFor = ["_INBOX.", "\(prefix).replies."].contains { subject.hasPrefix($0) }
    guard isFor, (try? NATSSubject.check(subject)) != nil else {
      throw UsageError("a reply goes to a subject below \(prefix).replies or _INBOX")
    }
  }

  private static func picture(_ format: OutputFormat, _ name: String) throws -> EncodedPicture.Format {
    guard case .picture(let format) = format else {
      throw UsageError("\(name): jobs make pictures, not videos")
    }
    return format
  }

  /// Returns the pattern of an address whose host is fixed.
  private static func address(_ text: String) throws -> FileNamePattern {
    let host = text.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#".contains($0) }
    guard !host.isEmpty, host.allSatisfy({ $0.isASCII && !"{}@\\ ".contains($0) }) else {
      throw UsageError("the address needs a host, without a user or a password")
    }
    return try FileNamePattern(text, name: "name", index: 1)
  }
}

/// The host names that a worker may connect to: HOST, or HOST:PORT for this port only.
struct HostList: Equatable, Sendable {
  private let allowed: Set<String>
  private let allowsAll: Bool

  /// Creates a list; `any` allows every host.
  init(_ texts: [String]) {
    allowed = Set(texts.map { $0.lowercased() })
    allowsAll = allowed.contains("any")
  }

  /// Whether every host is allowed.
  var isOpen: Bool { allowsAll }

  /// Returns whether an address is HTTP or HTTPS on an allowed host.
  func allows(_ address: String) -> Bool {
    guard let (host, port) = Self.server(of: address) else { return false }
    // Another URL parser must not find a different host.
    guard let url = URL(string: address), let other = url.host?.lowercased(),
      other == host || "[\(other)]" == host
    else { return false }
    return allowsAll || allowed.contains(host) || allowed.contains("\(host):\(port)")
  }

  /// Returns the host, in lower case, and the port of an address; nil if anything about them is unusual.
  private static func server(of address: String) -> (host: String, port: Int)? {
    guard JobDestination.isAddress(address) else { return nil }
    let isSecure = address.prefix(5).lowercased() == "https"
    let authority = address.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
    let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, let server = parts.last,
      authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
    else { return nil }
    let end = server.hasPrefix("[") ? server.firstIndex(of: "]").map { server.index(after: $0) } : nil
    let host = server.hasPrefix("[") ? server[..<(end ?? server.startIndex)] : server.prefix { $0 != ":" }
    let rest = server[host.endIndex...]
    guard !host.isEmpty, host.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHostCharacter }) else {
      return nil
    }
    if rest.isEmpty { return (host.lowercased(), isSecure ? 443 : 80) }
    guard rest.first == ":", let port = UInt16(rest.dropFirst()) else { return nil }
    return (host.lowercased(), Int(port))
  }
}

extension Character {
  /// Whether it is a letter, a digit, or another character of host names and bracketed addresses.
  fileprivate var isHostCharacter: Bool { isASCII && (isLetter || isNumber || ".-_:[]".contains(self)) }
}

extension String {
  /// The text with all but letters, digits, `-`, `_`, `.` and `~` percent-encoded (RFC 3986).
  var percentEncoded: String {
    let digits = Array("0123456789ABCDEF")
    return String(
      utf8.flatMap { byte -> [Character] in
        let character = Character(UnicodeScalar(byte))
        let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "-_.~".contains(character))
        return isPlain ? [character] : ["%", digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      })
  }

  /// An address without secrets, for messages.
  var redactedAddress: String { SourceLocator(self).description }
}
