// A result that is given later, and the task that waits for it.
internal import PreviewCore

/// A result that is given once.
struct Promise<Value: Sendable>: Sendable {
  private let result = Watched<Result<Value?, any Error>?>(nil)

  /// Gives the result, unless there is one already. Nobody needs to wait for it any more.
  func fulfil(_ result: Result<Value?, any Error>) { self.result.update { $0 = $0 ?? result } }

  /// Waits for the result; nil after `deadline`.
  ///
  /// - Throws: the error that was given; `CancellationError`.
  func value(until deadline: CaptureInstant? = nil) async throws -> Value? {
    try await result.first(until: deadline) { $0 }?.get()
  }
}
