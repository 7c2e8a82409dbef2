// The last frames of a source, to show it with a delay.
internal import Synchronization

/// A ring of frames, as long as the longest delay requires and memory allows.
final class FrameHistory: Sendable {
  private let state = Mutex(State())

  private struct State {
    var frames: [Frame] = []
    var length = Duration.zero
  }

  /// The limits that apply to any delay.
  private static let maximumBytes = 256 << 20
  private static let maximumFrames = 128

  /// Sets how long frames are buffered: those captured within `length` of the newest; zero buffers none.
  func keep(for length: Duration) { state.withLock { $0.length = length } }

  func add(_ frame: Frame) {
    state.withLock { state in
      guard state.length > .zero else { return state.frames = [] }
      state.frames.append(frame)
      // The newest frame that is older than `length` stays, because it is the one shown at the full delay.
      while state.frames.count > 1,
        state.frames[1].timestamp <= frame.timestamp - state.length || state.frames.count > Self.maximumFrames
          || state.frames.count * frame.storage.count > Self.maximumBytes
      {
        state.frames.removeFirst()
      }
    }
  }

  /// Returns the newest frame captured at or before `time`, or else the oldest one.
  func frame(at time: CaptureInstant) -> Frame? {
    state.withLock { state in state.frames.last { $0.timestamp <= time } ?? state.frames.first }
  }
}
