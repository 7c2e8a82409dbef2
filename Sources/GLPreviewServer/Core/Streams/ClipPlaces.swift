// The places of clips. A clip that works off what is kept has one of few. One whose time is not over has one of more for as long as
// it runs: unlike the clients of a stream it has an encoder, or an animation, of its own, which works at each picture that comes.
internal import Synchronization

/// The gates of clips.
struct ClipGates: Sendable {
  /// Those that are made of what is kept, as fast as they are read.
  let making = AdmissionLimit(capacity: 4, subject: "clips being made")
  /// Those whose time is not over.
  let following = AdmissionLimit(
    capacity: 16, sharing: .ofFreePlaces, subject: "clips that wait for pictures")
}

/// What a clip holds.
final class ClipPlaces: Sendable {
  private let following: AdmissionPermit?
  private let making: Mutex<AdmissionPermit?>

  /// Enters for a clip of `times`; `isCaughtUp` if nothing is kept of them.
  ///
  /// - Throws: `Problem`: 503 or 429.
  init(_ gates: ClipGates, _ times: ClosedRange<CaptureInstant>, isCaughtUp: Bool) throws(Problem) {
    let isOver = times.upperBound <= CaptureClock.now
    following = try isOver ? nil : gates.following.enter()
    making = Mutex(try isOver || !isCaughtUp ? gates.making.enter() : nil)
  }

  /// All that is kept is sent. Gives the place of a clip that goes on to others.
  func caughtUp() {
    guard following != nil else { return }
    making.withLock { $0 = nil }
  }
}
