// Text for labels and fallbacks: any script, by Pango and Cairo, drawn once and kept.
public import PreviewCore
internal import Synchronization

/// Draws text with this machine's fonts, and keeps what was drawn last.
///
/// Libraries and fonts are looked for at the first text. Where they are missing there is no text, all else goes on, and
/// `failure` says why.
public final class PangoTextRenderer: TextRenderer {
  private let state: Mutex<State>

  /// One that the process shares: fonts are looked for once.
  public static let shared = PangoTextRenderer()

  /// One of its own.
  ///
  /// - Parameters:
  ///   - textLimit: how many texts are kept.
  ///   - byteLimit: how many bytes of them; one text is kept whatever its size.
  public init(textLimit: Int = 512, byteLimit: Int = 32 << 20) {
    state = Mutex(State(kept: LRUCache(capacity: textLimit, maximumCost: byteLimit)))
  }

  /// Looks for libraries and fonts now, if nobody has.
  ///
  /// - Throws: `TextError` where one of them is missing, every time.
  public func load() throws(TextError) {
    if let failure = state.withLock({ $0.loaded() }) { throw failure }
  }

  /// Why there is no text; nil while that is not known, or there is some.
  public var failure: TextError? { state.withLock { $0.failure } }

  /// How many texts were drawn, not counting those that were there already.
  var drawCount: Int { state.withLock { $0.drawCount } }

  /// The text's picture; nil where there is nothing to see, or no text can be drawn. The identical one as long as it is
  /// kept. No more than 16,384 bytes of UTF-8 are drawn, and no more than 16 megapixels.
  public func bitmap(for text: StyledText) -> Bitmap? { state.withLock { $0.drawing(of: text)?.bitmap } }

  /// How many letters of a text no font here has; nil where no text can be drawn.
  func missingLetters(of text: StyledText) -> Int? { state.withLock { $0.drawing(of: text)?.missingLetters } }
}

/// What a renderer remembers.
private struct State: ~Copyable {
  var kept: LRUCache<StyledText, PangoFonts.Drawing>
  var fonts: PangoFonts?
  var failure: TextError?
  var drawCount = 0

  init(kept: LRUCache<StyledText, PangoFonts.Drawing>) { self.kept = kept }

  /// Nil where text can be drawn.
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
