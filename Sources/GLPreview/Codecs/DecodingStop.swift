// Stops a decoder in the middle of a picture, because a few bytes can demand seconds of work.
internal import PreviewCore

/// The stop condition, which decoders check between rows.
struct DecodingStop {
  /// Nil for no deadline.
  let deadline: CaptureInstant?

  var isDue: Bool {
    if Task.isCancelled { return true }
    guard let deadline else { return false }
    return CaptureClock.now > deadline
  }

  static let error = CodecError(
    .stopped, "decoding was stopped: it took too long, or nobody wants it any more")

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
