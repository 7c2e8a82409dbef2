// Between who captures and who looks: a slot of one that always holds the newest, or a queue that loses nothing.
internal import PreviewCore
internal import Synchronization

/// Captures on their way from one connection after another to whoever asks for frames.
final class CaptureQueue: Sendable {
  /// A capture and its number among all that the source made.
  struct Element: Sendable {
    let capture: Capture
    let sequence: Int
  }

  private let delivery: LiveOptions.Delivery
  private let state = Mutex(State())

  fileprivate struct State {
    var elements: [Element] = []
    var byteCount = 0
    var sequence = 0
    /// Nil while more may come; then how it ended.
    var end: Result<Void, SourceError>?
    var takers: [(id: Int, continuation: CheckedContinuation<Element?, any Error>)] = []
    var giver: CheckedContinuation<Void, Never>?
    var nextID = 0
    var isTakerCancelled: Set<Int> = []
  }

  init(_ delivery: LiveOptions.Delivery) { self.delivery = delivery }

  /// Whether the giver waits for room.
  var isHeld: Bool { state.withLock { $0.giver != nil } }

  /// Whether a capture waits to be taken.
  var isFilled: Bool { state.withLock { !$0.elements.isEmpty } }

  /// Whether no more captures come than wait.
  var isFinished: Bool { state.withLock { $0.end != nil } }

  /// Adds a capture. Where all are kept and there is no room, waits for some, or for the end of the task.
  ///
  /// - Returns: how many that nobody had taken it replaced.
  func put(_ capture: Capture) async throws -> Int {
    switch delivery {
    case .newest:
      // What goes is let go outside the lock: it may give memory back to a driver.
      let (taker, element, dropped) = state.withLock { state in state.add(capture, replacing: true) }
      taker?.resume(returning: element)
      return dropped.count
    case .every(let maximumBytes):
      let capture = try capture.detached()
      try await waitForRoom(maximumBytes)
      let (taker, element, _) = state.withLock { state in state.add(capture, replacing: false) }
      taker?.resume(returning: element)
      return 0
    }
  }

  /// The next capture: the newest or the oldest that nobody had. Waits for it; nil at the end.
  ///
  /// - Throws: the error with which the source ended, once all captures are taken; `CancellationError`.
  func take() async throws -> Element? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // A task may be cancelled when it has its element already.
    defer { state.withLock { _ = $0.isTakerCancelled.remove(id) } }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let giver = state.withLock { state -> CheckedContinuation<Void, Never>? in
          if state.isTakerCancelled.remove(id) != nil {
            continuation.resume(throwing: CancellationError())
          } else if let element = state.removeFirst() {
            continuation.resume(returning: element)
            return state.removeGiver()
          } else if let end = state.end {
            continuation.resume(with: end.map { nil }.mapError { $0 as any Error })
          } else {
            state.takers.append((id, continuation))
          }
          return nil
        }
        giver?.resume()
      }
    } onCancel: {
      let taker = state.withLock { state -> CheckedContinuation<Element?, any Error>? in
        guard let index = state.takers.firstIndex(where: { $0.id == id }) else {
          state.isTakerCancelled.insert(id)
          return nil
        }
        return state.takers.remove(at: index).continuation
      }
      taker?.resume(throwing: CancellationError())
    }
  }

  /// No more will come; `error` says why where it is not in order. What waits is given first.
  func finish(throwing error: SourceError? = nil) {
    let (takers, giver) = state.withLock { state in
      if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
      defer { state.takers = [] }
      return (state.takers, state.removeGiver())
    }
    giver?.resume()
    for (_, taker) in takers {
      if let error { taker.resume(throwing: error) } else { taker.resume(returning: nil) }
    }
  }

  /// Drops what waits.
  func removeAll() {
    let dropped = state.withLock { state in
      defer {
        state.elements = []
        state.byteCount = 0
      }
      return state.elements
    }
    withExtendedLifetime(dropped) {}
  }

  private func waitForRoom(_ maximumBytes: Int) async throws {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isRoom = state.withLock { state in
          guard state.end == nil, !Task.isCancelled, state.byteCount >= maximumBytes, !state.elements.isEmpty
          else { return true }
          state.giver = continuation
          return false
        }
        if isRoom { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.removeGiver() }?.resume()
    }
    try Task.checkCancellation()
  }
}

extension CaptureQueue.State {
  /// Counts `capture` and gives it to who waits, or keeps it.
  fileprivate mutating func add(_ capture: Capture, replacing: Bool)
    -> (
      taker: CheckedContinuation<CaptureQueue.Element?, any Error>?, element: CaptureQueue.Element,
      dropped: [CaptureQueue.Element]
    )
  {
    sequence += capture.skipped
    // What comes when all is over goes nowhere.
    guard end == nil else { return (nil, CaptureQueue.Element(capture: capture, sequence: sequence), []) }
    let element = CaptureQueue.Element(capture: capture, sequence: sequence)
    sequence += 1
    guard takers.isEmpty else { return (takers.removeFirst().continuation, element, []) }
    let dropped = replacing ? elements : []
    if replacing { elements = [] }
    elements.append(element)
    byteCount = (replacing ? 0 : byteCount) + capture.byteCount
    return (nil, element, dropped)
  }

  fileprivate mutating func removeFirst() -> CaptureQueue.Element? {
    guard !elements.isEmpty else { return nil }
    let element = elements.removeFirst()
    byteCount -= element.capture.byteCount
    return element
  }

  fileprivate mutating func removeGiver() -> CheckedContinuation<Void, Never>? {
    defer { giver = nil }
    return giver
  }
}
