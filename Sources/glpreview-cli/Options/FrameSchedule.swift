// Which frames of a source are rendered.
import ArgumentParser
import GLPreview

/// The words `--frames`, `--every`, `--loop`, `--warmup`, `--interval` and `--duration`.
struct FrameSchedule: Equatable {
  /// The most frames to render; nil is all.
  var limit: Int?
  /// Render one frame in this many.
  var every = 1
  /// How often a file is played.
  var loops = 1
  /// What is passed over before the first frame.
  var warmup = Warmup.none
  /// From the time of a frame to that of the next one, at least; nil is every frame.
  var interval: Duration?
  /// Frames of this long are rendered; nil is all.
  var duration: Duration?
}

/// What a camera needs until its exposure is right: `10` frames, or `0.5s`.
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
  /// Seconds as they are typed: 0.5, 60; at most a hundred years.
  init?(_ seconds: some StringProtocol) {
    guard let seconds = Double(seconds), seconds >= 0, seconds <= 3e9 else { return nil }
    self = .seconds(seconds)
  }
}
