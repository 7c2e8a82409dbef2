// Selects the frames of a source to render.
import ArgumentParser
import GLPreview

/// The values of `--frames`, `--every`, `--loop`, `--warmup`, `--interval` and `--duration`.
struct FrameSchedule: Equatable {
  /// The most frames to render; nil for all.
  var limit: Int?
  /// Render every Nth frame.
  var every = 1
  /// How many times a file is played.
  var loops = 1
  /// What to skip before the first frame.
  var warmup = Warmup.none
  /// The minimum time between rendered frames; nil for every frame.
  var interval: Duration?
  /// How long to render; nil for no limit.
  var duration: Duration?
}

/// The time that a camera needs to adjust its exposure: `10` frames, or `0.5s`.
enum Warmup: Equatable, ExpressibleByArgument {
  case frames(Int)
  case time(Duration)

  static let none = Warmup.frames(0)

  init?(argument: String) {
    if argument.hasSuffix("s"), let time = Duration(argument.dropLast()) {
      self = .time(time)
    } else if let frames = Int(argument), frames >= 0 {
      self = .frames(frames)
    } else {
      return nil
    }
  }
}

extension Duration {
  /// Parses seconds such as 0.5 or 60; at most a hundred years.
  init?(_ seconds: some StringProtocol) {
    guard let seconds = Double(seconds), seconds >= 0, seconds <= 3e9 else { return nil }
    self = .seconds(seconds)
  }
}
