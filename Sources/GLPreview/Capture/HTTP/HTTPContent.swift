// Detects what a server sends, from its Content-Type and its first bytes.
internal import PreviewCore

enum HTTPContent: Sendable, Hashable {
  /// Pictures in parts; nil if the boundary is not declared.
  case multipart(boundary: String?)
  /// One JPEG.
  case picture
  /// One or more JPEGs, one after another.
  case pictures
  /// Video in fragments of MP4.
  case video
  /// Its first bytes must be read to know.
  case unknown
  /// Not a picture that can be read; describes what it is instead.
  case other(String)

  /// From the `Content-Type` field.
  init(contentType: String?) {
    let fields = Self.split(contentType ?? "")
    let type = fields.first?.trimmed.lowercased() ?? ""
    switch type {
    case let type where type.hasPrefix("multipart/"):
      self = .multipart(boundary: Self.boundary(fields.dropFirst()))
    case "image/jpeg", "image/jpg", "image/pjpeg", "image/x-jpeg": self = .picture
    case "video/mp4": self = .video
    case "", "application/octet-stream", "binary/octet-stream", "text/plain": self = .unknown
    case let type where type.contains("jpeg") || type.contains("jpg"): self = .unknown
    default: self = .other(String(type.prefix(60)))
    }
  }

  /// From the first bytes of a body; nil if more are needed.
  static func sniff(_ bytes: some Collection<UInt8>, isEnd: Bool) -> HTTPContent? {
    let start = bytes.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.prefix(3)
    if start.count == 3 || isEnd {
      if start.elementsEqual(JPEGDecoder.signature) { return .pictures }
      if start.starts(with: "--".utf8) { return .multipart(boundary: nil) }
      return .other(
        start.isEmpty ? "nothing" : start.first == UInt8(ascii: "<") ? "a page" : "data of an unknown kind")
    }
    return nil
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
