// Text for labels and fallbacks in any script, drawn with Pango and Cairo and cached.
internal import Synchronization

/// Draws text with the machine's fonts and caches recent results.
///
/// Libraries and fonts are loaded at the first text. If they are missing, no text is drawn, everything else
/// works, and `failure` gives the reason.
package final class PangoTextRenderer: TextRenderer {
  private let state: Mutex<State>

  /// The renderer shared by the process, so that fonts are loaded once.
  package static let shared = PangoTextRenderer()

  /// Creates a renderer that caches at most this many texts and bytes; one text is kept whatever its size.
  package init(textLimit: Int = 512, byteLimit: Int = 32 << 20) {
    state = Mutex(State(kept: LRUCache(capacity: textLimit, maximumCost: byteLimit)))
  }

  /// Why text can't be drawn; nil if it can, or before the first attempt.
  package var failure: TextError? { state.withLock { $0.failure } }

  /// The number of texts drawn, not counting cached ones.
  var drawCount: Int { state.withLock { $0.drawCount } }

  /// Returns the text's bitmap; nil if there is nothing to see or text can't be drawn. While it is cached,
  /// each call returns the same object. At most 16,384 bytes of UTF-8 and 16 megapixels are drawn.
  package func bitmap(for text: StyledText) -> Bitmap? { state.withLock { $0.drawing(of: text)?.bitmap } }

  /// The number of characters of a text that no font has; nil if text can't be drawn.
  func missingLetters(of text: StyledText) -> Int? { state.withLock { $0.drawing(of: text)?.missingLetters } }
}

/// The cache, and the fonts once they are loaded.
private struct State: ~Copyable {
  var kept: LRUCache<StyledText, PangoFonts.Drawing>
  var fonts: PangoFonts?
  var failure: TextError?
  var drawCount = 0

  init(kept: LRUCache<StyledText, PangoFonts.Drawing>) { self.kept = kept }

  /// Loads the fonts if necessary. Nil if text can be drawn.
  mutating func loaded() -> TextError? {
    guard fonts == nil, failure == nil else { return failure }
    do throws(TextError) {
      fonts = try PangoFonts()
    } catch {
      failure = error
    }
    return failure
  }

  mutating func drawing(of text: StyledText) -> PangoFonts.Drawing? {
    if let found = kept[text] { return found }
    guard loaded() == nil, let drawing = fonts?.draw(text) else { return nil }
    drawCount += 1
    kept.insert(drawing, for: text, cost: drawing.bitmap?.bytes.count ?? 0)
    return drawing
  }
}

/// Text can't be drawn on this machine; everything else can.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  package enum Kind: Sendable, Hashable {
    /// Pango's or Cairo's libraries are not installed.
    case librariesMissing
    /// There is no font at all.
    case fontsMissing
    /// There is not enough memory.
    case outOfMemory
  }

  /// The kind of failure.
  package let kind: Kind
  /// The missing part and how to install it, in one line.
  package let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
