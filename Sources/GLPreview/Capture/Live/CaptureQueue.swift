// Between who captures and who looks: a slot of one that always holds the newest, or a queue that loses nothing.
internal import PreviewCore

/// Captures on their way from one connection after another to whoever asks for frames.
final class CaptureQueue: Sendable {
  /// A capture and its number among all that the source made.
  struct Element: Sendable {
    let capture: Capture
    let sequence: Int
  }

  private let delivery: LiveOptions.Delivery
  private let state = Watched(State())

  private struct State {
    var elements: [Element] = []
    var byteCount = 0
    var sequence = 0
    /// Nil while more may come; then how it ended.
    var end: Result<Void, SourceError>?
    /// Whether the giver waits for room.
    var isHeld = false
  }

  init(_ delivery: LiveOptions.Delivery) { self.delivery = delivery }

  /// Whether the giver waits for room.
  var isHeld: Bool { state.withLock { $0.isHeld } }

  /// Whether a capture waits to be taken.
  var isFilled: Bool { state.withLock { !$0.elements.isEmpty } }

  /// Adds a capture. Where all are kept and there is no room, waits for some, or for the end of the task.
  ///
  /// - Returns: how many that nobody had taken it replaced.
  func put(_ capture: Capture) async throws -> Int {
    switch delivery {
    case .newest: return add(capture, replacing: true)
    case .every(let maximumBytes):
      let capture = try capture.detached()
      try await waitForRoom(maximumBytes)
      return add(capture, replacing: false)
    }
  }

  /// The next capture: the newest or the oldest that nobody had. Waits for it; nil at the end.
  ///
  /// - Throws: the error with which the source ended, once all captures are taken; `CancellationError`.
  func take() async throws -> Element? {
    // Taking makes room: a waiting `put` looks again.
    defer { if case .every = delivery { state.update { _ in } } }
    let taken = try await state.first { state -> Result<Element?, SourceError>? in
      guard !state.elements.isEmpty else { return state.end.map { $0.map { nil } } }
      let element = state.elements.removeFirst()
      state.byteCount -= element.capture.byteCount
      return .success(element)
    }
    return try taken?.get()
  }

  /// No more will come; `error` says why where it is not in order. What waits is given first.
  func finish(throwing error: SourceError? = nil) {
    state.update { state in
      if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
    }
  }

  /// Drops what waits.
  func removeAll() {
    let dropped = state.update { state in
      defer { (state.elements, state.byteCount) = ([], 0) }
      return state.elements
    }
    // Outside the lock: it may give memory back to a driver.
    withExtendedLifetime(dropped) {}
  }

  private func waitForRoom(_ maximumBytes: Int) async throws {
    defer { state.withLock { $0.isHeld = false } }
    _ = try await state.first { state in
      state.isHeld = state.end == nil && state.byteCount >= maximumBytes && !state.elements.isEmpty
      return state.isHeld ? nil : true
    }
  }

  /// Counts `capture` and keeps it, instead of all that wait or behind them.
  ///
  /// - Returns: how many it replaced.
  private func add(_ capture: Capture, replacing: Bool) -> Int {
    let dropped = state.update { state -> [Element] in
      state.sequence += capture.skipped
      // What comes when all is over goes nowhere.
      guard state.end == nil else { return [] }
      var dropped: [Element] = []
      if replacing {
        swap(&dropped, &state.elements)
        state.byteCount = 0
      }
      state.elements.append(Element(capture: capture, sequence: state.sequence))
      state.byteCount += capture.byteCount
      state.sequence += 1
      return dropped
    }
    return dropped.count
  }
}
