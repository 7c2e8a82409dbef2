// Requests. One subscription receives the replies to all of them.
internal import NIOCore
internal import Synchronization

extension NATSClient {
  /// Publishes a request and returns the first reply.
  ///
  /// Without a connection, the request waits for one. `timeout` includes that wait; it defaults to
  /// `NATSConfiguration.requestTimeout`.
  ///
  /// - Throws: `NATSError.noResponders`, immediately, if the subject has no subscriber; `.timeout`;
  ///   `.disconnected` if the connection is lost before the reply arrives; `.cancelled`; and the errors of
  ///   `publish`.
  package func request(
    _ subject: String, _ payload: [UInt8] = [], headers: NATSHeaders = NATSHeaders(), timeout: Duration? = nil
  ) async throws(NATSError) -> NATSMessage {
    let token = try makeToken()
    let request = NATSMessage(subject, reply: "\(inbox).\(token)", headers: headers, payload: payload)
    let deadline = NIODeadline.now() + (timeout ?? configuration.requestTimeout).timeAmount
    let timer = eventLoop.scheduleTask(deadline: deadline) { self.answer(token, .failure(.timeout)) }
    defer { timer.cancel() }
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { $0.requests[token] = continuation }
        do throws(NATSError) { try publish(request) } catch { self.answer(token, .failure(error)) }
        if Task.isCancelled { self.answer(token, .failure(.cancelled)) }
        // The timer may have fired before the continuation was registered.
        if NIODeadline.now() >= deadline { self.answer(token, .failure(.timeout)) }
      }
    } onCancel: {
      self.answer(token, .failure(.cancelled))
    }
    let message = try answer.get()
    guard message.headers.status != 503 || !message.payload.isEmpty else { throw .noResponders }
    return message
  }

  /// Returns a token for the reply subject of a request. The first call subscribes to all of them.
  private func makeToken() throws(NATSError) -> String {
    let (token, link) = try state.withLock { (state) throws(NATSError) in
      try state.checkOpen()
      var link: NATSLink?
      if !state.hasInbox {
        link = try state.subscribe("\(inbox).*", nil, .requests).link
        state.hasInbox = true
      }
      return (String(state.newID(), radix: 36), link)
    }
    link?.flush()
    return token
  }

  /// Completes a request. Later replies are ignored.
  func answer(_ token: String, _ answer: ClientState.Answer) {
    state.withLock { $0.requests.removeValue(forKey: token) }?.resume(returning: answer)
  }
}
