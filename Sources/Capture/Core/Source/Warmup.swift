// Frames or time to discard after a source opens.

/// The frames or time to discard after a camera opens, until its exposure and its colours have settled.
public enum Warmup: Sendable, Hashable {
  /// This many frames, 0 or more.
  case frames(Int)
  /// Frames captured less than this after the first one.
  case time(Duration)

  /// Nothing is discarded.
  public static let none = Warmup.frames(0)

  /// Parses a number of frames (`10`) or of seconds (`0.5s`).
  public init(parsing text: String) throws(ParameterError) {
    if text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds >= 0, seconds <= 3e9 {
      self = .time(.seconds(seconds))
    } else if let count = Int(text), count >= 0 {
      self = .frames(count)
    } else {
      throw ParameterError("'\(text)' is not a number of frames (10) or seconds (0.5s)")
    }
  }

  /// Returns whether warm-up still lasts at a frame: `count` frames came before it, the first one at `start`.
  package func lasts(after count: Int, from start: CaptureInstant, at time: CaptureInstant) -> Bool {
    switch self {
    case .frames(let frames): count < frames
    case .time(let duration): time - start < duration
    }
  }
}
