// When a decoder gives up in the middle of a picture: a few bytes can ask for seconds of work.

/// What a decoder asks between two rows.
struct DecodingStop {
  /// By `CaptureClock`; nil is never.
  let deadline: Duration?

  /// Whether the task is cancelled, or the time is over.
  var isDue: Bool {
    if Task.isCancelled { return true }
    guard let deadline else { return false }
    return CaptureClock.now > deadline
  }

  /// What is told of a picture that was given up.
  static let error = CodecError(
    .stopped, "decoding was stopped: it took too long, or nobody wants it any more")

  /// Calls `body` with what C asks, and its context; the context is valid during the call alone.
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
