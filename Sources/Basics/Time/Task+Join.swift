// Waits for another task, which is cancelled together with the waiting task.

extension Task where Failure == any Error {
  /// Waits for the task's value. Cancelling the caller also cancels the task.
  package func join() async throws -> Success {
    try await withTaskCancellationHandler {
      try await value
    } onCancel: {
      cancel()
    }
  }
}
