// Picture file names with placeholders for the view's name and the frame's number.
package import PreviewCore

/// A file name that may contain `{view}`, `{frame}` and `{frame:05}`.
package struct FileNamePattern: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case text(String)
    case view
    case frame(digits: Int)
  }

  private let pieces: [Piece]

  /// Unknown placeholders and unmatched braces are errors.
  package init(_ text: String) throws(WordError) {
    var pieces: [Piece] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw WordError("'\(text)' has a '{' without a '}'")
      }
      if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
      pieces.append(try FileNamePattern.place(rest[rest.index(after: open)..<close], in: text))
      rest = rest[rest.index(after: close)...]
    }
    guard !pieces.contains(where: { if case .text(let text) = $0 { text.contains("}") } else { false } }),
      !rest.contains("}")
    else { throw WordError("'\(text)' has a '}' without a '{'") }
    if !rest.isEmpty { pieces.append(.text(String(rest))) }
    self.pieces = pieces
  }

  /// `STEM-VIEW.jpg` or `.png`; braces in `stem` are ordinary characters.
  package init(stem: String, _ format: EncodedPicture.Format) {
    pieces = [.text(stem + "-"), .view, .text(format == .jpeg ? ".jpg" : ".png")]
  }

  private static func place(_ word: Substring, in text: String) throws(WordError) -> Piece {
    switch word {
    case "view": return .view
    case "frame": return .frame(digits: 0)
    default:
      let parts = word.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == "frame", parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let digits = Int(parts[1]), (0...20).contains(digits)
      else {
        throw WordError("'{\(word)}' in '\(text)' is none of {view}, {frame}, {frame:05}")
      }
      return .frame(digits: digits)
    }
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
