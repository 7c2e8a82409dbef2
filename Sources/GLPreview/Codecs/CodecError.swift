// What a codec could not do, and why, in one line. Codecs know no files: who calls them says which file it was.
internal import PreviewCore

/// A picture that could not be decoded or encoded.
package struct CodecError: Error, Hashable, CustomStringConvertible {
  /// What is wrong, for who wants to act on it.
  package enum Kind: Sendable, Hashable {
    /// The bytes are of some other format.
    case unrecognized
    /// The bytes end before the picture does.
    case cutShort
    /// The bytes contradict themselves or the format.
    case damaged
    /// A valid picture that this codec does not read, or cannot write.
    case unsupported
    /// More pixels than are allowed.
    case tooLarge
    /// The memory budget has no room for it now.
    case noMemory
    /// It took too long, or nobody wants it any more.
    case stopped
  }

  /// What is wrong.
  package let kind: Kind
  /// One line: "JPEG is cut short".
  package let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: MemoryBudgetExceeded) { self.init(.noMemory, error.description) }

  /// Refuses what is larger than `maximumPixels`, before any memory is taken for it.
  static func checkSize(_ size: Size, maximumPixels: Int) throws(CodecError) {
    if let refusal = size.refusal(maximumPixels: maximumPixels) { throw CodecError(.tooLarge, refusal) }
  }
}
