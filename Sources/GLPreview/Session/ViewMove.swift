// The moves of a view through a lens: what it looks at, as a function of the capture time of a frame.

/// A move of a view from one pose to another, evenly in time.
package struct ViewMove: Sendable, Hashable {
  /// The pose until `start`.
  package let from: LensPose
  /// The pose from `end` on.
  package let to: LensPose
  /// When it starts.
  package let start: CaptureInstant
  /// When it ends: at `start`, or later.
  package let end: CaptureInstant

  package init(from: LensPose, to: LensPose, start: CaptureInstant, end: CaptureInstant) {
    (self.from, self.to, self.start, self.end) = (from, to, start, end)
  }

  /// Returns the pose at a time.
  package func pose(at time: CaptureInstant) -> LensPose {
    guard time < end else { return to }
    guard time > start else { return from }
    return from.interpolated(to: to, at: (time - start) / (end - start))
  }

  /// How a move ended.
  package enum End: String, Sendable {
    /// The view has the target pose.
    case arrived
    /// Another move or another change of the view took its place.
    case superseded
    /// It was stopped where the view was.
    case stopped
  }

  /// The interval at which a source without new frames is redrawn during a move.
  static let step = Duration.seconds(1) / 30
}

/// The latest moves of a view, one after another, for frames that were captured during them.
package struct ViewPath: Sendable, Hashable {
  /// In the order of their starts. Each begins with the pose that the view had then.
  package private(set) var moves: [ViewMove] = []

  /// Earlier moves are forgotten.
  private static let mostMoves = 8

  package init() {}

  mutating func append(_ move: ViewMove) {
    moves.append(move)
    moves.removeFirst(max(moves.count - Self.mostMoves, 0))
  }

  /// Returns the pose of a frame that was captured at `time`; nil after all moves, when the view is as it is
  /// configured.
  package func pose(at time: CaptureInstant) -> LensPose? {
    guard let last = moves.last, time < last.end else { return nil }
    return (moves.last { $0.start <= time } ?? moves[0]).pose(at: time)
  }

  /// Returns the move that is under way at `now`.
  package func running(at now: CaptureInstant) -> ViewMove? { moves.last.flatMap { now < $0.end ? $0 : nil } }

  /// Returns how a move ended; nil if it is the last one, and not over before its time.
  func end(of move: ViewMove) -> ViewMove.End? {
    guard let place = moves.firstIndex(of: move) else { return .superseded }
    guard place + 1 < moves.count else { return nil }
    let next = moves[place + 1]
    if next.start >= move.end { return .arrived }
    return next.start == next.end ? .stopped : .superseded
  }
}

extension ViewConfiguration {
  /// The view without its direction, roll and field of view: all that a move does not change.
  package var unposed: ViewConfiguration {
    var view = self
    view.projection?.pose = LensPose()
    return view
  }

  /// Whether it shows the same part of a source as another view, at the same size.
  func isPlaced(as other: ViewConfiguration) -> Bool {
    (projection, lens, crop, corners) == (other.projection, other.lens, other.crop, other.corners)
      && (rotation, angle, width, height) == (other.rotation, other.angle, other.width, other.height)
  }
}
