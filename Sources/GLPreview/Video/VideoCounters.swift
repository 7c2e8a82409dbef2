// Counts the work of encoders, and those that run.
package import Synchronization

/// Counters for the encoders of any number of previews.
package final class VideoCounters: Sendable {
  /// The consequence of an encoder's failure.
  package enum Change: Sendable, CustomStringConvertible {
    /// The encoder was opened once more.
    case reopened(VideoConfiguration.Encoder, VideoError)
    /// The encoder was abandoned. The next candidate replaces it, if there is one.
    case gaveUp(VideoConfiguration.Encoder, VideoError)

    package var description: String {
      switch self {
      case .reopened(let encoder, let error):
        "H.264: \(encoder.rawValue) failed and is opened again: \(error)"
      case .gaveUp(let encoder, let error): "H.264: \(encoder.rawValue) is no longer used: \(error)"
      }
    }
  }

  /// Encoded and passed-through pictures, each counted once, however many clients watch.
  package let pictures = Atomic(0)
  /// The pictures among these that were passed through from a camera.
  package let passed = Atomic(0)
  package let keyPictures = Atomic(0)
  package let bytes = Atomic(0)
  /// Pictures that a watcher did not get because it was too slow.
  package let dropped = Atomic(0)
  package let failures = Atomic(0)
  private let running = Mutex<[VideoConfiguration.Encoder: Int]>([:])
  private let onChange: @Sendable (Change) -> Void

  package init(onChange: @escaping @Sendable (Change) -> Void = { _ in }) { self.onChange = onChange }

  /// The number of running encoders by kind; 0 for a kind that ran before.
  package var encoders: [VideoConfiguration.Encoder: Int] { running.withLock { $0 } }

  func count(_ samples: [VideoSample], dropped count: Int) {
    pictures.wrappingAdd(samples.count, ordering: .relaxed)
    passed.wrappingAdd(samples.count { $0.format.encoder == nil }, ordering: .relaxed)
    keyPictures.wrappingAdd(samples.count(where: \.isKey), ordering: .relaxed)
    bytes.wrappingAdd(samples.reduce(0) { $0 + $1.bytes.count }, ordering: .relaxed)
    dropped.wrappingAdd(count, ordering: .relaxed)
  }

  func count(_ change: Change) {
    failures.wrappingAdd(1, ordering: .relaxed)
    onChange(change)
  }

  func changed(from old: VideoConfiguration.Encoder?, to new: VideoConfiguration.Encoder?) {
    guard old != new else { return }
    running.withLock { running in
      if let old { running[old, default: 1] -= 1 }
      if let new { running[new, default: 0] += 1 }
    }
  }
}
