// Detects what a server sends, from its first bytes rather than from its Content-Type, which is often wrong.

enum HTTPContent: Sendable, Hashable {
  /// Pictures in parts. The boundary is nil if it is not declared.
  case multipart(boundary: String?)
  /// One JPEG or PNG.
  case picture
  /// One or more concatenated JPEGs.
  case pictures
  /// Video in MP4 fragments.
  case video
  /// Not known until the first bytes are read.
  case unknown
  /// Content that is not a readable picture, with a description of what it is instead.
  case other(String)

  /// Detects the content from the `Content-Type` field. The field is trusted only for parts, for single
  /// pictures and for MP4, whose bytes are checked later.
  init(contentType: String?) {
    let fields = Self.split(contentType ?? "")
    let type = fields.first?.trimmed.lowercased() ?? ""
    if type.hasPrefix("multipart/") {
      self = .multipart(boundary: Self.boundary(fields.dropFirst()))
    } else {
      self = type.hasPrefix("image/") ? .picture : type == "video/mp4" ? .video : .unknown
    }
  }

  /// Detects the content from the first bytes of a body, whatever its declared type; nil if more bytes are
  /// needed.
  static func sniff(_ bytes: [UInt8], isEnd: Bool) -> HTTPContent? {
    let start = bytes.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    if start.starts(with: "--".utf8) { return .multipart(boundary: nil) }
    if let found = PictureStart(in: bytes[...]) { return found.format == .jpeg ? .pictures : .picture }
    // Text and videos can't contain a picture; other bytes may precede one.
    let isDecided = isEnd || bytes.count >= PictureStart.searchLimit || isText(start) || isVideo(start)
    guard isDecided else { return nil }
    return .other(description(of: bytes))
  }

  /// Describes a body that is not a picture.
  static func description(of bytes: [UInt8]) -> String {
    let start = bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    if start.isEmpty { return "nothing" }
    if start.first == UInt8(ascii: "<") { return "a page" }
    return isText(start) ? "text" : isVideo(start) ? "a video" : "data"
  }

  /// Returns whether the bytes begin like MP4 or a related format.
  private static func isVideo(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.dropFirst(4).starts(with: "ftyp".utf8)
  }

  private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
    let start = bytes.prefix(8)
    return start.count == 8 && start.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
  }

  /// Splits at semicolons outside quotes.
  private static func split(_ text: String) -> [String] {
    var items = [""]
    var isQuoted = false
    for character in text {
      if character == "\"" { isQuoted.toggle() }
      if character == ";", !isQuoted { items.append("") } else { items[items.count - 1].append(character) }
    }
    return items
  }

  private static func boundary(_ fields: ArraySlice<String>) -> String? {
    for field in fields {
      guard let equals = field.firstIndex(of: "="), field[..<equals].trimmed.lowercased() == "boundary" else {
        continue
      }
      let value = field[field.index(after: equals)...].trimmed
      let bare = value.hasPrefix("\"") ? value.dropFirst().prefix { $0 != "\"" } : value[...]
      return bare.isEmpty ? nil : String(bare)
    }
    return nil
  }
}
