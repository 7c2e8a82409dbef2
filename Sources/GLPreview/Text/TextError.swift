// Why no text can be drawn here.

/// Text can't be drawn on this machine; all else can.
public struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a caller can do about it.
  public enum Kind: Sendable, Hashable {
    /// Pango's or Cairo's libraries are not installed.
    case librariesMissing
    /// There is no font at all.
    case fontsMissing
    /// There is not enough memory.
    case outOfMemory
  }

  /// What a caller can do about it.
  public let kind: Kind
  /// In one line, with how to get what is missing.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
