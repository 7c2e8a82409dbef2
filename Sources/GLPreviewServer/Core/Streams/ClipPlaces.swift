// The admission limits of clips. A clip that reads the replay buffer takes one of few places. A clip whose
// time span has not ended also takes one of more places for as long as it runs: unlike the clients of a
// stream, it has its own encoder or animation, which works for each new frame.
internal import Synchronization

/// The gates of clips.
struct ClipGates: Sendable {
  /// The clips that read the replay buffer as fast as their client reads.
  let making = AdmissionLimit(capacity: 4, subject: "clips being made")
  /// The clips whose time span has not ended.
  let following = AdmissionLimit(
    capacity: 16, sharing: .ofFreePlaces, subject: "clips that wait for frames")
}

/// The places that a clip holds.
final class ClipPlaces: Sendable {
  private let following: AdmissionPermit?
  private let making: Mutex<AdmissionPermit?>

  /// Takes the places for a clip of `times`; `isCaughtUp` if no frames of that time are buffered.
  ///
  /// - Throws: `Problem`: 503 or 429.
  init(_ gates: ClipGates, _ times: ClosedRange<CaptureInstant>, isCaughtUp: Bool) throws(Problem) {
    let isOver = times.upperBound <= CaptureClock.now
    following = try isOver ? nil : gates.following.enter()
    making = Mutex(try isOver || !isCaughtUp ? gates.making.enter() : nil)
  }

  /// Releases the place for reading the replay buffer, if the clip continues with new frames.
  func caughtUp() {
    guard following != nil else { return }
    making.withLock { $0 = nil }
  }
}
