// A source of a session that gives what a test says, when it says so, and counts what is done with it.
import PreviewCore
import Synchronization
import TestSupport

@testable import GLPreview

/// Frames of one colour, given one at a time.
final class SourceScript: Sendable {
  let size: Size
  /// The largest that a still may be.
  let stillSize: Size
  private let state = Mutex(State())

  private struct State {
    var waiting: [Result<Frame?, any Error>] = []
    var takers: [Int: CheckedContinuation<Frame?, any Error>] = [:]
    var nextID = 0
    var sequence = 0
    var opens: [SourceOptions.Demand] = []
    var closes = 0
    var asked = 0
    var refusal: SourceError?
    var refusals = 0
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  init(size: Size = Size(width: 8, height: 6), stillSize: Size = Size(width: 16, height: 12)) {
    self.size = size
    self.stillSize = stillSize
  }

  /// The demands with which it was opened, one after another.
  var opens: [SourceOptions.Demand] { state.withLock { $0.opens } }
  var closes: Int { state.withLock { $0.closes } }
  /// Whether it is open.
  var isOpen: Bool { state.withLock { $0.opens.count > $0.closes } }
  /// How often it refused to be opened.
  var refusals: Int { state.withLock { $0.refusals } }
  /// How often a frame was asked for.
  var asked: Int { state.withLock { $0.asked } }

  /// Lets it refuse to be opened.
  func refuse(_ error: SourceError?) { state.withLock { $0.refusal = error } }

  /// The next frame, grey of this code.
  func give(_ code: UInt8) {
    let sequence = state.withLock { state in
      defer { state.sequence += 1 }
      return state.sequence
    }
    give(.success(Self.frame(code, size, sequence)))
  }

  /// What comes next.
  func give(_ result: Result<Frame?, any Error>) {
    let taker = state.withLock { state -> CheckedContinuation<Frame?, any Error>? in
      guard let id = state.takers.keys.min() else {
        state.waiting.append(result)
        return nil
      }
      return state.takers.removeValue(forKey: id)
    }
    taker?.resume(with: result)
  }

  /// Gives frames of this code, as a camera does, while `body` runs. Where a reader may have been cancelled, or the camera
  /// closed, after one frame was given, that frame need not reach the next reader.
  func giving<Result>(_ code: UInt8, while body: () async throws -> Result) async rethrows -> Result {
    let giver = Task {
      while !Task.isCancelled {
        if !hasFrame { give(code) }
        await letOthersGoOn()
      }
    }
    defer { giver.cancel() }
    return try await body()
  }

  /// Waits until frames were asked for so often.
  func asked(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard state.asked < count else { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  static func frame(_ code: UInt8, _ size: Size, _ sequence: Int) -> Frame? {
    try? Frame(
      tight: Frame.Format(.grey, size, color: .jfif), bytes: [UInt8](repeating: code, count: size.pixelCount),
      sequence: sequence, timestamp: CaptureClock.now)
  }

  /// As a session takes it.
  func source(named name: String = "camera", isLive: Bool = true, hasSizes: Bool = false) -> SessionSource {
    var source = SessionSource(
      name: name,
      SessionSource.Origin(isLive: isLive, hasSizes: hasSizes) { options in
        try self.state.withLock { state in
          if let refusal = state.refusal {
            state.refusals += 1
            throw refusal
          }
          state.opens.append(options.demand)
        }
        let isStill = options.demand.minimumSize?.width == 65535
        return Opened(script: self, stillSize: isStill ? self.stillSize : nil)
      })
    source.opensWithin = allTheTimeThereIs
    return source
  }

  fileprivate func next() async throws -> Frame? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (result, watchers) = state.withLock {
          state -> (Result<Frame?, any Error>?, [CheckedContinuation<Void, Never>]) in
          state.asked += 1
          let met = state.watchers.filter { $0.count <= state.asked }.map(\.continuation)
          state.watchers.removeAll { $0.count <= state.asked }
          if Task.isCancelled { return (.failure(CancellationError()), met) }
          if !state.waiting.isEmpty { return (state.waiting.removeFirst(), met) }
          state.takers[id] = continuation
          return (nil, met)
        }
        for watcher in watchers { watcher.resume() }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.takers.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
  }

  fileprivate func close() {
    let takers = state.withLock { state in
      defer { state.takers = [:] }
      state.closes += 1
      return Array(state.takers.values)
    }
    for taker in takers { taker.resume(returning: nil) }
  }

  /// Whether a frame waits to be taken.
  fileprivate var hasFrame: Bool { state.withLock { !$0.waiting.isEmpty } }

  private struct Opened: TimelySource {
    let script: SourceScript
    let stillSize: Size?
    var name: String { "script" }
    var hasNewFrame: Bool { script.hasFrame }

    func nextFrame() async throws -> Frame? {
      if let stillSize { return SourceScript.frame(200, stillSize, 0) }
      return try await script.next()
    }

    func rewind() throws {}
    func close() async { script.close() }
  }
}

extension PreviewSession {
  /// A session of scripted sources; nothing lingers.
  convenience init(scripted sources: SessionSource..., linger: Duration = .zero) throws {
    var sources = sources
    for index in sources.indices where sources[index].opensWithin == .seconds(1) {
      sources[index].opensWithin = allTheTimeThereIs
    }
    try self.init(sources, options: .tested(linger: linger))
  }
}

extension PreviewSession.Options {
  /// The options of a session that may draw on any GPU: on the one that `testedGPU` names.
  static func tested(linger: Duration) -> PreviewSession.Options {
    PreviewSession.Options(gpu: testedGPU(as: GPUDevice.Choice.self) ?? .automatic, linger: linger)
  }
}

extension RenderedPicture {
  /// A picture that no preview has drawn.
  init(_ name: String, _ picture: Picture, iccProfile: [UInt8]? = nil) {
    self.init(
      name: name, picture: picture, PictureKey(sequence: 0), timestamp: .start, iccProfile: iccProfile)
  }

  /// The code of the first pixel's R.
  var code: UInt8 { picture.bytes[0] }
}

extension PreviewSession {
  /// Who waits for a picture of the first source.
  var waitingCount: Int { get async { await firstFeed?.waitingCount ?? 0 } }
}

extension SnapshotRequest {
  /// One that may take all the time there is: on a starved machine it takes longer than a user would wait.
  static func patient(
    _ mode: Mode = .newest, of previews: [String]? = nil, as format: Picture.Format = .ycbcr(.yuv420),
    fallback: SnapshotRequest.FallbackPolicy = .placeholder
  ) -> SnapshotRequest {
    SnapshotRequest(mode, of: previews, as: format, fallback: fallback, timeout: allTheTimeThereIs)
  }
}
