// The error of a codec: the kind of failure, and the reason in one line. Codecs do not know file names; their callers
// add them.
internal import PreviewCore

package struct CodecError: Error, Hashable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
    case unrecognized
    /// The bytes end before the picture is complete.
    case cutShort
    /// The bytes contradict themselves or the format.
    case damaged
    /// The picture is valid, but this codec can't read or write it.
    case unsupported
    case tooLarge
    /// The memory budget has no room at the moment.
    case noMemory
    /// It exceeded its deadline, or its task was cancelled.
    case stopped
  }

  package let kind: Kind
  /// The reason in one line, such as "JPEG is cut short".
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: MemoryBudgetExceeded) { self.init(.noMemory, error.description) }

  /// Rejects sizes larger than `maximumPixels`, before any memory is allocated.
  static func checkSize(_ size: Size, maximumPixels: Int) throws(CodecError) {
    if let refusal = size.refusal(maximumPixels: maximumPixels) { throw CodecError(.tooLarge, refusal) }
  }
}
