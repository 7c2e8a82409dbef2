// Text for tests: every letter is a box half as wide as it is high.
import PreviewCore
import Synchronization

/// Draws boxes, the same one for the same text, and remembers what it was asked for.
final class BoxText: TextRenderer {
  private let drawn = Mutex<[StyledText: Bitmap]>([:])

  /// All texts that were asked for.
  var texts: Set<String> { drawn.withLock { Set($0.keys.map(\.text)) } }

  func bitmap(for text: StyledText) -> Bitmap? {
    drawn.withLock { drawn in
      if let bitmap = drawn[text] { return bitmap }
      let size = Size(
        width: min(text.text.count * text.size / 2, text.maximumSize.width),
        height: min(text.size, text.maximumSize.height))
      drawn[text] = try? Bitmap(size: size, bytes: Array(repeating: 255, count: size.pixelCount * 4))
      return drawn[text]
    }
  }

  /// The bitmap of a text, in whatever font and colour it was asked for; nil where it was not, or in several.
  func only(_ text: String) -> Bitmap? {
    let found = drawn.withLock { $0.filter { $0.key.text == text } }
    return found.count == 1 ? found.first?.value : nil
  }
}

extension StillImage {
  /// One grey pixel.
  static func pixel() throws -> StillImage {
    StillImage(try Frame(tight: Frame.Format(.grey, Size(width: 1, height: 1), color: .jfif), bytes: [128]))
  }
}

extension WallClockTime {
  /// 2026-11-21 17:05:09 UTC.
  static let testing = WallClockTime(secondsSince1970: 1_795_280_709)
}
