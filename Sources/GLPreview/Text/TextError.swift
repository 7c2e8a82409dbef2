// Why text can't be drawn.

/// Text can't be drawn on this machine; everything else can.
public struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public enum Kind: Sendable, Hashable {
    /// Pango's or Cairo's libraries are not installed.
    case librariesMissing
    /// There is no font at all.
    case fontsMissing
    /// There is not enough memory.
    case outOfMemory
  }

  /// The kind of failure.
  public let kind: Kind
  /// What is missing and how to install it, in one line.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
