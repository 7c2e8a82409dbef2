// The last frames of a source, for those who show it with a delay.
internal import PreviewCore
internal import Synchronization

/// A ring of frames, as long as the longest delay wants it, and no longer than memory allows.
final class FrameHistory: Sendable {
  private let state = Mutex(State())

  private struct State {
    var frames: [Frame] = []
    var length = Duration.zero
  }

  /// No delay keeps more.
  private static let maximumBytes = 256 << 20
  private static let maximumFrames = 128

  /// Keeps what was captured within `length` of the newest; zero keeps nothing.
  func keep(for length: Duration) { state.withLock { $0.length = length } }

  func add(_ frame: Frame) {
    state.withLock { state in
      guard state.length > .zero else { return state.frames = [] }
      state.frames.append(frame)
      // The one before the oldest wanted moment is what is seen then.
      while state.frames.count > 1,
        state.frames[1].timestamp <= frame.timestamp - state.length || state.frames.count > Self.maximumFrames
          || state.frames.count * frame.storage.count > Self.maximumBytes
      {
        state.frames.removeFirst()
      }
    }
  }

  /// What was the newest at `time`; the oldest that is kept where none was there.
  func frame(at time: Duration) -> Frame? {
    state.withLock { state in state.frames.last { $0.timestamp <= time } ?? state.frames.first }
  }
}
