// The reasons why a codec fails. Codecs do not know file names; their callers add them.

package struct CodecError: MemoryShortage, Hashable, CustomStringConvertible {
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

  init(_ error: MemoryBudget.Exceeded) { self.init(.noMemory, error.description) }

  package var isOutOfMemory: Bool { kind == .noMemory }

  /// Rejects sizes larger than `maximumPixels`, before any memory is allocated.
  static func checkSize(_ size: Size, maximumPixels: Int) throws(CodecError) {
    if let refusal = size.refusal(maximumPixels: maximumPixels) { throw CodecError(.tooLarge, refusal) }
  }
}

/// The condition for stopping in the middle of a picture, because a few bytes can cause seconds of work.
/// Decoders check it between rows.
struct DecodingStop {
  /// Nil for no deadline.
  let deadline: CaptureInstant?

  var isDue: Bool { Task.isCancelled || deadline.map { CaptureClock.now > $0 } ?? false }

  static let error = CodecError(
    .stopped, "decoding was stopped: it took too long, or no client waits for it")

  /// Calls `body` with a C callback and its context, which is valid only during the call.
  @unsafe func asked<Result>(
    _ body: (
      _ stop: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Bool, _ context: UnsafeMutableRawPointer
    ) -> Result
  ) -> Result {
    var stop = self
    return unsafe withUnsafeMutablePointer(to: &stop) { pointer in
      unsafe body(
        { context in
          guard let context = unsafe context else { return false }
          return unsafe context.assumingMemoryBound(to: DecodingStop.self).pointee.isDue
        }, UnsafeMutableRawPointer(pointer))
    }
  }
}
