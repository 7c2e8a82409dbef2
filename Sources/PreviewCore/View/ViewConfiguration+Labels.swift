// The labels that a view's parameters add: a text at the bottom left and the time at the top right.

extension ViewConfiguration {
  /// The text of the first label with a fixed text.
  package var labelText: String? {
    labels.lazy.compactMap { if case .text(let text) = $0.content { text } else { nil } }.first
  }

  /// The format of the first time label, as a parameter's value.
  package var timeText: String? {
    labels.lazy.compactMap { if case .time(let format) = $0.content { format.word } else { nil } }.first
  }

  /// Replaces the labels of one kind by one, or by none.
  mutating func setLabel(isTime: Bool, _ label: Label?) {
    labels.removeAll { $0.isTime == isTime }
    if let label { labels.append(label) }
  }
}

extension Label {
  /// Creates a label from a view's parameter: on a dark pill, with a size that suits the picture.
  init(word content: Content, _ position: Anchor) {
    self.init(content, font: Font(size: nil), background: Background(), position: position)
  }
}

extension Label.TimeFormat {
  /// `2026-11-21 17:05:09 UTC`.
  private static let utc = try? Label.TimeFormat("%F %T UTC", zone: .utc)

  /// Parses `local` or `yes`, `utc`, or a pattern in local time, such as `%H:%M`; nil for `no`.
  init?(parsing text: String) throws(ParameterError) {
    if text == "utc", let utc = Self.utc {
      self = utc
    } else if text.contains("%") {
      try self.init(text)
    } else {
      let isShown: Bool
      do { isShown = try text == "local" || ParameterParser.flag("time", text) } catch {
        throw ParameterError("time", "'\(text)' is not a time: use local, utc, no or a pattern such as %F %T")
      }
      guard isShown else { return nil }
      self = .standard
    }
  }

  /// The text that `init(parsing:)` reads.
  fileprivate var word: String {
    switch self {
    case .standard: "local"
    case _ where self == Self.utc: "utc"
    default: pattern
    }
  }
}
