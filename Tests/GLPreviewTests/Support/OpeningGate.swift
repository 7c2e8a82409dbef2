// Sources of a session that do at a bad moment what sources do: open late, give a last frame as they close, fail.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

/// Holds up who opens a source until the test says so.
final class OpeningGate: Sendable {
  private let state = Mutex(State())

  private struct State {
    var isOpen = false
    var nextID = 0
    var passed = 0
    var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
  }

  /// How many stand before it.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
  /// How many have come to it.
  var arrivedCount: Int { state.withLock { $0.nextID } }

  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      state.isOpen = true
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// - Throws: `CancellationError`.
  func pass() async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.isOpen { return .success(()) }
          state.waiting[id] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
  }
}

extension SessionSource {
  /// The same, which opens when the gate does.
  func opening(through gate: OpeningGate) -> SessionSource {
    let open = origin.open
    var gated = with(
      Origin(isLive: origin.isLive, hasSizes: origin.hasSizes) { options in
        try await gate.pass()
        return try await open(options)
      })
    // It is the test that takes its time: nothing stands in for the source meanwhile.
    gated.opensWithin = allTheTimeThereIs
    return gated
  }

  /// The same, whose opened sources are put into others.
  func wrapped(_ wrap: @escaping @Sendable (any FrameSource) -> any FrameSource) -> SessionSource {
    let open = origin.open
    return with(
      Origin(isLive: origin.isLive, hasSizes: origin.hasSizes) { wrap(try await open($0)) })
  }

  private func with(_ origin: Origin) -> SessionSource {
    var copy = SessionSource(name: name, options: options, origin)
    copy.keepsWarm = keepsWarm
    copy.repeats = repeats
    copy.opensWithin = opensWithin
    copy.fallback = fallback
    return copy
  }
}

/// Gives one frame more when it is closed, as a camera does whose last frame was on its way.
struct LastFrameSource: FrameSource {
  let source: any FrameSource
  let frame: Frame

  var name: String { source.name }

  func nextFrame() async throws -> Frame? {
    do {
      return try await source.nextFrame() ?? frame
    } catch is CancellationError {
      return frame
    }
  }

  func rewind() async throws { try await source.rewind() }
  func close() async { await source.close() }
}

/// Closes when the gate opens, and not before.
struct SlowlyClosedSource: FrameSource {
  let source: any FrameSource
  let gate: OpeningGate

  var name: String { source.name }

  func nextFrame() async throws -> Frame? { try await source.nextFrame() }
  func rewind() async throws { try await source.rewind() }

  func close() async {
    // Not to be hurried.
    await Task { try? await gate.pass() }.value
    await source.close()
  }
}

/// Throws whenever it is asked for a frame, and counts that.
final class FailingSource: FrameSource {
  let name = "failing"
  private let asked = Atomic<Int>(0)

  var count: Int { asked.load(ordering: .relaxed) }

  func nextFrame() async throws -> Frame? {
    asked.add(1, ordering: .relaxed)
    throw SourceError(.unavailable, path: name, reason: "is broken")
  }

  func rewind() throws {}
}
