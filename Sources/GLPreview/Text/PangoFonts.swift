// Swift access to Pango: draws one styled text at a time.
internal import CPango

/// The machine's fonts and Pango's caches; for one thread at a time.
@safe struct PangoFonts: ~Copyable {
  private let fonts: OpaquePointer

  /// Loads the libraries if necessary, and looks for fonts.
  init() throws(TextError) {
    var error = glp_text_error()
    guard let fonts = unsafe glp_text_open(&error) else {
      let kind: TextError.Kind =
        switch error.status {
        case GLP_TEXT_NO_LIBRARIES: .librariesMissing
        case GLP_TEXT_NO_FONTS: .fontsMissing
        default: .outOfMemory
        }
      throw TextError(kind, String(tuple: error.text))
    }
    unsafe self.fonts = fonts
  }

  deinit { unsafe glp_text_close(fonts) }

  struct Drawing {
    /// Nil if there is nothing to see.
    let bitmap: Bitmap?
    /// The number of characters that no font has; they are drawn as boxes.
    let missingLetters: Int
  }

  /// Lays out and draws a text; nil if memory runs out.
  borrowing func draw(_ text: StyledText) -> Drawing? {
    let room = PangoFonts.room(text.maximumSize)
    var words = PangoFonts.printable(text.text)
    let size = min(max(text.size, Label.Font.sizes.lowerBound), Label.Font.sizes.upperBound)
    let family = String(text.font.family.prefix(256).filter { $0 != "\0" })
    guard room.width > 0, room.height > 0, !words.isEmpty else {
      return Drawing(bitmap: nil, missingLetters: 0)
    }
    var result = unsafe glp_text_bitmap()
    let isDone = words.withUTF8 { words in
      unsafe family.withCString { family in
        unsafe words.withMemoryRebound(to: CChar.self) { words in
          var style = unsafe glp_text(
            text: words.baseAddress, length: words.count, family: family, size: CInt(size),
            weight: CInt(text.font.weight.rawValue), red: text.color.red, green: text.color.green,
            blue: text.color.blue, max_width: CInt(room.width), max_height: CInt(room.height))
          return unsafe glp_text_draw(fonts, &style, &result)
        }
      }
    }
    defer { unsafe glp_text_free(&result) }
    let missing = Int(unsafe result.missing)
    guard isDone else { return nil }
    guard let bytes = unsafe result.bytes else { return Drawing(bitmap: nil, missingLetters: missing) }
    let taken = Size(width: Int(unsafe result.width), height: Int(unsafe result.height))
    let array = unsafe Array(UnsafeBufferPointer(start: bytes, count: taken.pixelCount * 4))
    return Drawing(bitmap: try? Bitmap(size: taken, bytes: array), missingLetters: missing)
  }

  /// Limits a text's size to 16 megapixels and 16,384 pixels a side.
  private static func room(_ size: Size) -> Size {
    let width = min(size.width, 16384)
    return Size(width: width, height: width > 0 ? min(size.height, 16384, (1 << 24) / width) : 0)
  }

  /// The text passed to Pango: at most 16,384 bytes, without control characters other than newline.
  private static func printable(_ text: String) -> String {
    var printable = ""
    var isAfterReturn = false
    for scalar in text.unicodeScalars {
      defer { isAfterReturn = scalar == "\r" }
      if scalar == "\n", isAfterReturn { continue }
      guard printable.utf8.count + 4 <= 16384 else { break }
      switch scalar {
      case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": printable.unicodeScalars.append("\n")
      case "\t": printable.unicodeScalars.append(" ")
      case _ where scalar.properties.generalCategory == .control: printable.unicodeScalars.append("\u{fffd}")
      default: printable.unicodeScalars.append(scalar)
      }
    }
    return printable
  }
}
