// Text by Pango and Cairo: that it is shaped, cut and kept, and that no input harms it.
import Testing

@testable import GLPreview

private func styled(
  _ words: String, size: Int = 32, family: String = "sans", weight: Label.Font.Weight = .regular,
  color: RGBColor = .white, width: Int = 1000, height: Int = 1000
) -> StyledText {
  StyledText(
    words, font: Label.Font(family: family, size: size, weight: weight), color: color,
    maximumSize: Size(width: width, height: height))
}

private func alphas(_ bitmap: Bitmap) -> [UInt8] {
  stride(from: 3, to: bitmap.bytes.count, by: 4).map { bitmap.bytes[$0] }
}

/// How much ink there is, in pixels.
private func ink(_ bitmap: Bitmap) -> Double { Double(alphas(bitmap).reduce(0) { $0 + Int($1) }) / 255 }

/// Which columns anything is drawn in.
private func inkedColumns(_ bitmap: Bitmap) -> [Bool] {
  let alphas = alphas(bitmap)
  return (0..<bitmap.size.width).map { x in
    (0..<bitmap.size.height).contains { alphas[$0 * bitmap.size.width + x] > 0 }
  }
}

/// Into how many pieces a line falls, with empty columns between them.
private func pieces(_ bitmap: Bitmap) -> Int {
  let columns = inkedColumns(bitmap)
  return zip([false] + columns, columns).count { !$0 && $1 }
}

/// Whether this machine's fonts have all letters of a text.
private func hasLetters(for words: String) -> Bool {
  PangoTextRenderer.shared.missingLetters(of: styled(words)) == 0
}

@Suite("Text", .enabled(if: hasLetters(for: "a"), "Pango or fonts are missing here: scripts/setup"))
struct TextTests {
  private let renderer = PangoTextRenderer()

  private func bitmap(_ text: StyledText) throws -> Bitmap { try #require(renderer.bitmap(for: text)) }

  @Test("a text is as high as its line, wider with more letters, and has antialiased edges")
  func latin() throws {
    let drawn = try bitmap(styled("Hill"))
    // Lines are a little higher than the em.
    #expect((33...48).contains(drawn.size.height))
    #expect(pieces(drawn) == 4)
    let alphas = alphas(drawn)
    #expect(alphas.contains(255) && alphas.contains(0) && alphas.contains { (1...254).contains($0) })
    #expect(try bitmap(styled("Hillll")).size.width > drawn.size.width)
    #expect(try bitmap(styled("Hill", size: 64)).size.height >= 2 * drawn.size.height - 2)
  }

  @Test("every pixel of a text that is not transparent has exactly the text's colour")
  func color() throws {
    for color in [
      RGBColor(red: 10, green: 200, blue: 77), .white, .black, RGBColor(red: 255, green: 0, blue: 1),
    ] {
      let bytes = try bitmap(styled("Say &", color: color)).bytes
      let seen = stride(from: 0, to: bytes.count, by: 4).filter { bytes[$0 + 3] > 0 }
      #expect(!seen.isEmpty)
      #expect(seen.allSatisfy { Array(bytes[$0..<($0 + 3)]) == [color.red, color.green, color.blue] })
    }
  }

  @Test("text has greyscale antialiasing: white and black text have the same alpha")
  func greyEdges() throws {
    #expect(
      try alphas(bitmap(styled("edge", color: .white))) == alphas(bitmap(styled("edge", color: .black))))
  }

  @Test("bold text has more ink than regular text, and font families differ")
  func weights() throws {
    let regular = try bitmap(styled("Weight"))
    #expect(try ink(bitmap(styled("Weight", weight: .bold))) > 1.1 * ink(regular))
    #expect(try alphas(bitmap(styled("Weight", family: "monospace"))) != alphas(regular))
  }

  @Test("every kind of line ending starts a new line below")
  func lines() throws {
    let one = try bitmap(styled("Lines"))
    for ending in ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"] {
      let two = try bitmap(styled("Lines\(ending)Lines"))
      #expect(abs(two.size.height - 2 * one.size.height) <= 1 && two.size.width == one.size.width)
    }
    #expect(try bitmap(styled("Lines\n\nLines")).size.height >= 3 * one.size.height - 2)
  }

  @Test("each line that exceeds the maximum width ends in an ellipsis within that width")
  func ellipsis() throws {
    let whole = try bitmap(styled("A long line of text"))
    let cut = try bitmap(styled("A long line of text", width: 150))
    #expect(cut.size.width <= 150 && cut.size.width > 100 && cut.size.height == whole.size.height)

    // Dots at its end: in several pieces, and low.
    let tail = alphas(cut).enumerated().filter {
      $0.offset % cut.size.width >= cut.size.width - 24 && $0.element > 0
    }
    #expect(!tail.isEmpty && tail.allSatisfy { $0.offset / cut.size.width > cut.size.height / 2 })
    let columns = inkedColumns(cut).suffix(24)
    #expect(zip([false] + columns, columns).count { !$0 && $1 } >= 2)

    let lines = try bitmap(styled("A long line of text\nand one more of them", width: 150))
    #expect(abs(lines.size.height - 2 * cut.size.height) <= 1)
    #expect(try bitmap(styled("fits", width: 150)).size == bitmap(styled("fits")).size)
    for width in 1...20 {
      #expect(renderer.bitmap(for: styled("Wide", width: width))?.size.width ?? 0 <= width)
    }
  }

  @Test("text that exceeds the maximum height is cut off")
  func height() throws {
    #expect(try bitmap(styled("a\nb\nc", height: 50)).size.height == 50)
    #expect(try bitmap(styled("Å", height: 10)).size.height == 10)
  }

  @Test("text without visible characters, or with a maximum size of zero, gives no bitmap")
  func nothing() {
    for empty in ["", " ", "\n", " \n \t ", "\u{200b}"] {
      #expect(renderer.bitmap(for: styled(empty)) == nil)
    }
    for (width, height) in [(0, 100), (100, 0), (-1, -1), (.min, .min)] {
      #expect(renderer.bitmap(for: styled("a", width: width, height: height)) == nil)
    }
  }

  @Test("control characters, invalid UTF-8, markup and unknown fonts are drawn without failure")
  func strangeInput() throws {
    for words in [
      "a\0b", "\u{1b}[31mred", "a\u{202e}b", "\u{fffe}\u{ffff}", "\u{10ffff}",
      String(repeating: "\u{301}", count: 500),
      "<b>no markup</b> & co", "%s%n", String(decoding: [0x61, 0xff, 0xc0, 0x80, 0x62], as: UTF8.self),
    ] {
      _ = renderer.bitmap(for: styled(words))
    }

    // Markup is text like any other.
    #expect(try bitmap(styled("<b>a</b>")).size.width > 2 * bitmap(styled("a")).size.width)
    #expect(try bitmap(styled("a\0b")).size.width > bitmap(styled("a")).size.width)
    _ = try bitmap(styled("a", family: ""))
    _ = try bitmap(styled("a", family: "no such family, \0, ,"))
    #expect(try bitmap(styled("a", size: .max)).size.height <= 1000)
    _ = renderer.bitmap(for: styled("a", size: .min))
    #expect(renderer.failure == nil)
  }

  @Test("texts of up to a million letters stay within the maximum size")
  func longTexts() throws {
    let line = try bitmap(styled(String(repeating: "word ", count: 2000), width: 300))
    #expect(line.size.width <= 300 && line.size.width > 200 && line.size.height < 50)
    let column = try bitmap(styled(String(repeating: "x\n", count: 5000), width: 300, height: 400))
    #expect(column.size.height == 400)
    let huge = try bitmap(
      styled(String(repeating: "w", count: 1_000_000), size: 512, width: .max, height: .max))
    #expect(huge.size.width <= 16384 && huge.size.pixelCount <= 1 << 24)
  }

  // MARK: scripts

  @Test(
    "Arabic letters join, from right to left", .enabled(if: hasLetters(for: "سبن"), "no font here has Arabic")
  )
  func arabic() throws {
    // Three letters that join on both sides are one piece (dots lie above and below it); with characters between them
    // that forbid it, they are three, and as wide as letters that stand alone.
    let joined = try bitmap(styled("سبن"))
    let apart = try bitmap(styled("س\u{200c}ب\u{200c}ن"))

    #expect(pieces(joined) == 1)
    #expect(pieces(apart) == 3)
    #expect(joined.size.width < apart.size.width)

    // Alif joins to the right alone: it stands at the left end of beh alif, apart in alif beh.
    #expect(try pieces(bitmap(styled("با"))) == 1)
    #expect(try pieces(bitmap(styled("اب"))) == 2)
  }

  @Test(
    "an Arabic line that exceeds the maximum width is cut at its left end",
    .enabled(if: hasLetters(for: "سبن"), "no font here has Arabic"))
  func arabicEllipsis() throws {
    let words = "مرحبا بالعالم كله من هنا"
    let cut = try bitmap(styled(words, width: 150))
    #expect(cut.size.width <= 150 && cut.size.width > 100)

    // Its right end is the whole text's.
    let whole = try bitmap(styled(words))
    func right(_ bitmap: Bitmap) -> [Bool] {
      Array(inkedColumns(bitmap).drop { !$0 }.reversed().drop { !$0 }.prefix(60))
    }
    #expect(right(cut) == right(whole))
  }

  @Test("combining marks are drawn on their letters")
  func combiningMarks() throws {
    let letter = try bitmap(styled("e"))
    let marked = try bitmap(styled("e\u{301}"))
    #expect(marked.size.width <= letter.size.width + 1 && ink(marked) > ink(letter))
  }

  @Test(
    "Devanagari forms conjuncts",
    .enabled(if: hasLetters(for: "क्ष"), "no font here has Devanagari (fonts-lohit-deva)"))
  func devanagari() throws {
    // ka + virama + ssa is one sign; the joiner's opposite keeps the virama in sight.
    #expect(try bitmap(styled("क्ष")).size.width < bitmap(styled("क्\u{200c}ष")).size.width)
  }

  @Test(
    "Chinese characters are as wide as the font size",
    .enabled(if: hasLetters(for: "山日"), "no font here has Chinese (fonts-wqy-microhei)"))
  func chinese() throws {
    #expect((60...68).contains(try bitmap(styled("山日")).size.width))
  }

  @Test(
    "emoji keep their own colours",
    .enabled(if: isColored("😀"), "no font here has coloured emoji"))
  func emoji() throws {
    #expect(isColored("😀"))
    let bytes = try bitmap(styled("😀")).bytes
    #expect(
      stride(from: 0, to: bytes.count, by: 4).contains {
        bytes[$0 + 3] == 255 && bytes[$0] > bytes[$0 + 2] + 50
      })
  }

  // MARK: what is kept

  @Test("equal texts are drawn once and share a bitmap; each other style is drawn separately")
  func identity() throws {
    let first = try bitmap(styled("kept"))
    #expect(try bitmap(styled("kept")) == first)
    #expect(renderer.drawCount == 1)

    #expect(try bitmap(styled("kept", color: .black)) != first)
    #expect(try bitmap(styled("kept", size: 31)) != first)
    #expect(try bitmap(styled("kept", weight: .bold)) != first)
    #expect(try bitmap(styled("kept", width: 999)) != first)
    #expect(renderer.drawCount == 5)

    // Nothing is known, too.
    #expect(renderer.bitmap(for: styled("")) == nil && renderer.bitmap(for: styled("")) == nil)
    #expect(renderer.drawCount == 6)
  }

  @Test("the text cache evicts the least recently used text first")
  func forgetting() throws {
    let small = PangoTextRenderer(textLimit: 3)
    for word in ["a", "b", "c", "a", "d"] { _ = small.bitmap(for: styled(word)) }
    #expect(small.drawCount == 4)
    for word in ["a", "c", "d"] { _ = small.bitmap(for: styled(word)) }
    #expect(small.drawCount == 4)
    _ = small.bitmap(for: styled("b"))
    #expect(small.drawCount == 5)
  }

  @Test("the text cache holds only the latest bitmap if that exceeds the byte limit")
  func byteLimit() throws {
    let small = PangoTextRenderer(byteLimit: 1)
    let first = try #require(small.bitmap(for: styled("a")))
    #expect(small.bitmap(for: styled("a")) == first)
    _ = small.bitmap(for: styled("b"))
    #expect(small.bitmap(for: styled("a")) != first)
    #expect(small.drawCount == 3)
  }

  @Test("concurrent requests for the same texts get the same bitmaps, each drawn once")
  func threads() async throws {
    let renderer = renderer
    let bitmaps = await withTaskGroup(of: [Bitmap?].self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<20).map { renderer.bitmap(for: styled("text \($0)")) } }
      }
      return await group.reduce(into: Set<[Bitmap?]>()) { $0.insert($1) }
    }

    #expect(bitmaps.count == 1 && bitmaps.first?.contains(nil) == false)
    #expect(renderer.drawCount == 20)
  }
}

private func isColored(_ words: String) -> Bool {
  guard let bitmap = PangoTextRenderer.shared.bitmap(for: styled(words)) else { return false }
  return stride(from: 0, to: bitmap.bytes.count, by: 4).contains {
    bitmap.bytes[$0 + 3] > 0 && bitmap.bytes[$0] != bitmap.bytes[$0 + 2]
  }
}
