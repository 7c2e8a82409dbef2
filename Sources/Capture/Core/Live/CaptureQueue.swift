// Passes captures to the reader: either the newest one only, or all of them in order.

/// Captures on their way from successive connections to the reader of frames.
final class CaptureQueue: Sendable {
  private let delivery: LiveOptions.Delivery
  private let state = Watched(State())

  private struct State {
    var captures: [Capture] = []
    var byteCount = 0
    var sequence = 0
    /// Nil while more may follow; otherwise how the source ended.
    var end: Result<Void, SourceError>?
    /// Whether `put` waits for space.
    var isHeld = false
  }

  init(_ delivery: LiveOptions.Delivery) { self.delivery = delivery }

  var isHeld: Bool { state.withLock { $0.isHeld } }

  var isFilled: Bool { state.withLock { !$0.captures.isEmpty } }

  /// Adds a capture; returns the number of unread ones that it replaced. If every capture is to be delivered,
  /// waits for space.
  func put(_ capture: Capture) async throws -> Int {
    switch delivery {
    case .newest: return putNewest(capture)
    case .every(let maximumBytes):
      let capture = try capture.detached()
      try await waitForRoom(maximumBytes)
      return add(capture, replacing: false)
    }
  }

  /// Adds a capture that replaces all unread ones, without waiting; returns their number.
  func putNewest(_ capture: Capture) -> Int { add(capture, replacing: true) }

  /// Waits for the next unread capture, the newest or the oldest; nil at the end. The error that ended the
  /// source is thrown after all captures are taken.
  func take() async throws -> Capture? {
    // A taken capture frees space: wake a waiting `put`.
    defer { if case .every = delivery { state.update { _ in } } }
    let taken = try await state.first { state -> Result<Capture?, SourceError>? in
      guard !state.captures.isEmpty else { return state.end.map { $0.map { nil } } }
      let capture = state.captures.removeFirst()
      state.byteCount -= capture.byteCount
      return .success(capture)
    }
    return try taken?.get()
  }

  /// Ends the queue; `error` is set if the source has failed. Waiting captures are delivered first.
  func finish(throwing error: SourceError?) {
    state.update { state in
      if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
    }
  }

  func removeAll() {
    let dropped = state.update { state in
      defer { (state.captures, state.byteCount) = ([], 0) }
      return state.captures
    }
    // Releases the captures outside the lock, because that may return memory to a driver.
    withExtendedLifetime(dropped) {}
  }

  private func waitForRoom(_ maximumBytes: Int) async throws {
    defer { state.withLock { $0.isHeld = false } }
    _ = try await state.first { state in
      state.isHeld = state.end == nil && state.byteCount >= maximumBytes && !state.captures.isEmpty
      return state.isHeld ? nil : true
    }
  }

  /// Numbers `capture` and adds it, replacing all waiting ones or after them; returns how many it replaced.
  private func add(_ capture: Capture, replacing: Bool) -> Int {
    let dropped = state.update { state -> [Capture] in
      state.sequence += capture.skipped
      // A capture that arrives after the end is dropped.
      guard state.end == nil else { return [] }
      var dropped: [Capture] = []
      if replacing {
        swap(&dropped, &state.captures)
        state.byteCount = 0
      }
      var capture = capture
      capture.sequence = state.sequence
      state.captures.append(capture)
      state.byteCount += capture.byteCount
      state.sequence += 1
      return dropped
    }
    return dropped.count
  }
}
