// Picture file names with placeholders for the source, the view's name and the frame's number.

/// A file name that may contain `{name}` and `{index}` of a source, `{view}` and `{frame}`. `{index:05}` and
/// `{frame:05}` are padded with zeros.
package struct FileNamePattern: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case text(String)
    case view
    case frame(digits: Int)
  }

  private let pieces: [Piece]

  /// Parses the pattern of one source's files, whose `{name}` and `{index}` are given; braces in the name are
  /// ordinary characters. Unknown placeholders and unmatched braces are errors.
  package init(_ text: String, name: String, index: Int) throws(ParameterError) {
    var pieces: [Piece] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw ParameterError("'\(text)' has a '{' without a '}'")
      }
      guard !rest[..<open].contains("}") else { throw ParameterError("'\(text)' has a '}' without a '{'") }
      if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
      let word = rest[rest.index(after: open)..<close]
      guard let piece = Self.piece(word, name, index) else {
        throw ParameterError(
          "'{\(word)}' in '\(text)' is not one of {name}, {index}, {index:05}, {view}, {frame}, {frame:05}")
      }
      pieces.append(piece)
      rest = rest[rest.index(after: close)...]
    }
    guard !rest.contains("}") else { throw ParameterError("'\(text)' has a '}' without a '{'") }
    if !rest.isEmpty { pieces.append(.text(String(rest))) }
    self.pieces = pieces
  }

  /// `STEM-VIEW.jpg` or `.png`; braces in `stem` are ordinary characters.
  package init(stem: String, _ format: EncodedPicture.Format) {
    pieces = [.text(stem + "-"), .view, .text(format == .jpeg ? ".jpg" : ".png")]
  }

  /// Returns the piece for a placeholder; nil if there is no such placeholder.
  private static func piece(_ word: Substring, _ name: String, _ index: Int) -> Piece? {
    if word == "name" { return .text(name) }
    if word == "view" { return .view }
    let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let digits = parts.count == 1 ? 0 : Self.digits(parts[1]) else { return nil }
    return switch parts[0] {
    case "index": .text(index.digits(digits))
    case "frame": .frame(digits: digits)
    default: nil
    }
  }

  /// The number of digits in `{frame:05}`; nil unless it is within 0...20.
  private static func digits(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let digits = Int(text) else { return nil }
    return (0...20).contains(digits) ? digits : nil
  }

  package var hasView: Bool { pieces.contains(.view) }

  package var hasFrame: Bool {
    pieces.contains { if case .frame = $0 { true } else { false } }
  }

  package func name(view: String, frame: Int) -> String {
    pieces.map { piece in
      switch piece {
      case .text(let text): text
      case .view: view
      case .frame(let digits): frame.digits(digits)
      }
    }.joined()
  }
}
