// Counts the results of requests for pictures, by the statuses of their answers.
internal import HTTPTypes

extension ServiceMetrics.RequestResult {
  /// The result of an answer with this status.
  init(status: Int) {
    self =
      switch status {
      case 304: .cached
      case ..<400: .done
      case 404: .missing
      case ..<500: .refused
      default: .failed
      }
  }

  /// The result of a request that fails with `error`; nil if its client has left.
  package init?(_ error: any Error) {
    guard !(error is CancellationError) else { return nil }
    let status = Problem(error)?.status.code ?? 500
    // `ServiceContext.whileClientStays` throws it.
    guard status != 499 else { return nil }
    self.init(status: status)
  }
}

extension ServiceMetrics {
  /// Answers a request by `work`, and counts the event of its result. A request is not counted if its client has left,
  /// or if its answer has no status.
  package func counting<Answer>(
    _ event: (RequestResult) -> Event, status: (Answer) -> Int?, _ work: () async throws -> Answer
  ) async throws -> Answer {
    do {
      let answer = try await work()
      if let status = status(answer) { count(event(RequestResult(status: status))) }
      return answer
    } catch {
      if let result = RequestResult(error) { count(event(result)) }
      throw error
    }
  }
}
