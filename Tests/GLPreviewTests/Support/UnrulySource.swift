// A camera that does all that cameras do, at random: opens slowly or not at all, fails, falls silent, closes slowly.
import PreviewCore
import Synchronization

@testable import GLPreview

/// How unruly cameras are, and what was seen of them.
final class UnrulyCamera: Sendable {
  private let state = Mutex(State())

  private struct State {
    var isCalm = false
    var opens = 0
    var closes = 0
    var mostOpen = 0
  }

  var isOpen: Bool { state.withLock { $0.opens > $0.closes } }
  /// How many of it were open at a time: a camera is one thing.
  var mostOpen: Int { state.withLock { $0.mostOpen } }
  var opens: Int { state.withLock { $0.opens } }

  /// From now on it does what it should.
  func calmDown() { state.withLock { $0.isCalm = true } }

  fileprivate func isUnruly(onceIn count: Int) -> Bool {
    state.withLock { !$0.isCalm } && Int.random(in: 0..<count) == 0
  }

  func source(named name: String) -> SessionSource {
    SessionSource(
      name: name,
      SessionSource.Origin(isLive: true, hasSizes: true) { options in
        if self.isUnruly(onceIn: 3) { try await pause(.milliseconds(Int.random(in: 1...20))) }
        if self.isUnruly(onceIn: 30) { throw SourceError(.unavailable, path: name, reason: "is busy") }
        self.state.withLock { state in
          state.opens += 1
          state.mostOpen = max(state.mostOpen, state.opens - state.closes)
        }
        let width = options.demand.minimumSize?.width ?? 0
        return Opened(camera: self, name: name, size: Size(width: width > 100 ? 24 : 16, height: 12))
      })
  }

  fileprivate func closed() { state.withLock { $0.closes += 1 } }
}

private final class Opened: TimelySource {
  let camera: UnrulyCamera
  let name: String
  let size: Size
  private let isClosed = Atomic<Bool>(false)
  private let sequence = Atomic<Int>(0)

  init(camera: UnrulyCamera, name: String, size: Size) {
    (self.camera, self.name, self.size) = (camera, name, size)
  }

  var hasNewFrame: Bool { Bool.random() }

  func nextFrame() async throws -> Frame? {
    if isClosed.load(ordering: .acquiring) { return nil }
    // Silent until it is closed, or nearly so.
    try await pause(.milliseconds(camera.isUnruly(onceIn: 50) ? 300 : Int.random(in: 0...3)))
    if camera.isUnruly(onceIn: 50) {
      throw SourceError(.badRequest, path: name, reason: "is of another shape")
    }
    let number = sequence.add(1, ordering: .relaxed).newValue
    return isClosed.load(ordering: .acquiring) ? nil : SourceScript.frame(UInt8(number & 255), size, number)
  }

  func rewind() throws {}

  func close() async {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if camera.isUnruly(onceIn: 3) { await Task { try? await pause(.milliseconds(5)) }.value }
    camera.closed()
  }
}
