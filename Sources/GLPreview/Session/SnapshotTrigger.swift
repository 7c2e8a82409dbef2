// Triggers snapshots from anywhere in a program, without a reference to the session.
internal import Synchronization

/// Takes snapshots of the session that it is attached to. Any thread can use it; it does not keep the session
/// alive.
///
/// ```swift
/// let trigger = SnapshotTrigger()
/// session.attach(trigger) { result in send(try result.get()) }
/// ...
/// trigger.capture()
/// ```
public final class SnapshotTrigger: Sendable {
  private let state = Mutex(State())

  /// Takes a snapshot: with this request, or else the one that the trigger was attached with; of a buffered
  /// frame if a mode is given.
  typealias Take = @Sendable (SnapshotRequest?, _ mode: SnapshotRequest.Mode?) async throws -> Snapshot

  private struct State {
    var take: Take?
    var handler: (@Sendable (Result<Snapshot, any Error>) async -> Void)?
    var taken = Broadcast<Snapshot>()
    var underWay = 0
  }

  /// The most captures in progress at a time.
  package static let mostUnderWay = 32

  /// Creates a trigger that is not attached.
  public init() {}

  /// Takes a snapshot, for the handler and for `snapshots`; returns at once.
  ///
  /// Errors go to the handler, including those that the session is closed or too many captures are in
  /// progress.
  public func capture(_ request: SnapshotRequest? = nil) {
    start { [try await self.take(request)] }
  }

  /// Takes snapshots of earlier frames, as `PreviewSession.snapshots(before:count:_:)` does, for the handler
  /// and for `snapshots`; returns at once. "Now" is the time of the call. They count as one capture.
  ///
  /// Errors go to the handler, as those of `capture(_:)`; `NotBuffered` if nothing of that time is buffered.
  public func capture(before duration: Duration, count: Int, _ request: SnapshotRequest? = nil) {
    let times = [CaptureInstant](before: CaptureClock.now, max(duration, .zero), count: count)
    start {
      try await times.map { SnapshotRequest.Mode.at($0) }.forEachBuffered { try await self.take(request, $0) }
    }
  }

  private func start(_ take: @escaping @Sendable () async throws -> [Snapshot]) {
    let isAllowed = state.withLock { state in
      guard state.underWay < Self.mostUnderWay else { return false }
      state.underWay += 1
      return true
    }
    Task {
      guard isAllowed else {
        return await handle(.failure(SessionError("\(Self.mostUnderWay) snapshots are already in progress")))
      }
      do {
        for snapshot in try await take() { await handle(.success(snapshot)) }
      } catch {
        await handle(.failure(error))
      }
      state.withLock { $0.underWay -= 1 }
    }
  }

  /// Takes a snapshot and waits for it; the handler and `snapshots` get it too.
  ///
  /// - Throws: `SessionError`, and the errors of drawing.
  public func snapshot(_ request: SnapshotRequest? = nil) async throws -> Snapshot {
    let snapshot = try await take(request)
    await handle(.success(snapshot))
    return snapshot
  }

  /// A stream of the snapshots that this trigger takes from now on. A slow reader keeps only the newest 16.
  public var snapshots: AsyncStream<Snapshot> {
    state.withLock { state in
      // A reader that has left must not keep its pictures until the next snapshot.
      state.taken.stream { [weak self] reader in Task { self?.forget(reader) } }
    }
  }

  private func forget(_ reader: Int) { state.withLock { $0.taken.remove(reader) } }

  /// The number of streams that are being read.
  var readerCount: Int { state.withLock { $0.taken.readerCount } }

  /// Attaches it to a session.
  func attach(
    _ take: @escaping Take,
    _ handler: (@Sendable (Result<Snapshot, any Error>) async -> Void)?
  ) {
    state.withLock { ($0.take, $0.handler) = (take, handler) }
  }

  /// Detaches it from its session; captures then fail.
  public func detach() { state.withLock { ($0.take, $0.handler) = (nil, nil) } }

  deinit { state.withLock { $0.taken.finish() } }

  private func take(_ request: SnapshotRequest?, _ mode: SnapshotRequest.Mode? = nil) async throws -> Snapshot
  {
    guard let take = state.withLock({ $0.take }) else {
      throw SessionError("the trigger is not attached to a session")
    }
    return try await take(request, mode)
  }

  private func handle(_ result: Result<Snapshot, any Error>) async {
    let handler = state.withLock { state in
      if case .success(let snapshot) = result { state.taken.send(snapshot) }
      return state.handler
    }
    await handler?(result)
  }
}
