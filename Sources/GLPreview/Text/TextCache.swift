// The texts that were asked for last.
internal import PreviewCore

/// Drawn texts, as many as fit; who was asked for longest ago goes first.
struct TextCache {
  private struct Entry {
    let drawing: PangoFonts.Drawing
    var lastUse: Int

    var byteCount: Int { drawing.bitmap?.bytes.count ?? 0 }
  }

  private let textLimit: Int
  private let byteLimit: Int
  private var entries: [StyledText: Entry] = [:]
  private var byteCount = 0
  private var uses = 0

  init(textLimit: Int, byteLimit: Int) {
    self.textLimit = textLimit
    self.byteLimit = byteLimit
  }

  /// What was drawn, if it is still there.
  subscript(_ text: StyledText) -> PangoFonts.Drawing? {
    mutating get {
      guard let entry = entries[text] else { return nil }
      uses += 1
      entries[text]?.lastUse = uses
      return entry.drawing
    }
  }

  /// Remembers what was drawn, and forgets what is too much then.
  mutating func keep(_ drawing: PangoFonts.Drawing, of text: StyledText) {
    uses += 1
    let entry = Entry(drawing: drawing, lastUse: uses)
    byteCount += entry.byteCount - (entries.updateValue(entry, forKey: text)?.byteCount ?? 0)
    while entries.count > 1, entries.count > textLimit || byteCount > byteLimit {
      guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
      entries[oldest.key] = nil
      byteCount -= oldest.value.byteCount
    }
  }
}
