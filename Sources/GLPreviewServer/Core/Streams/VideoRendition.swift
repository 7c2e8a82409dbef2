// Chooses between two encodings of a view for a client: the view's own, or a lower rendition with half the
// size and rate.

/// The decision for one client. It reads no clock itself.
struct VideoRendition: Sendable {
  enum Move: Sendable, Hashable {
    case down, up
  }

  private(set) var isLower = false
  private var movedAt = CaptureInstant.start
  /// The time when it last went up, if that may still prove too early.
  private var triedAt: CaptureInstant?
  /// How long the client must keep up with the lower rendition before it tries the view's own; at first
  /// `shortestWait`.
  private var wait: Duration
  private let shortestWait: Duration
  private var mayGoDown = CaptureInstant.start

  static let longestWait = Duration.seconds(600)
  /// A try has failed if the client falls behind again within this time.
  static let trial = Duration.seconds(120)

  init(wait: Duration = .seconds(30)) { (self.wait, shortestWait) = (wait, wait) }

  /// Returns the client's next move, if any. `lastDrop` is when it last dropped pictures of its current
  /// rendition.
  mutating func move(isLeftBehind: Bool, lastDrop: CaptureInstant?, at now: CaptureInstant) -> Move? {
    if isLower {
      guard now - max(movedAt, lastDrop ?? movedAt) >= wait else { return nil }
      (isLower, movedAt, triedAt) = (false, now, now)
      return .up
    }
    guard isLeftBehind, now >= mayGoDown else { return nil }
    let hasFailed = triedAt.map { now - $0 <= Self.trial } ?? false
    wait = hasFailed ? min(wait * 2, Self.longestWait) : shortestWait
    (isLower, movedAt, triedAt) = (true, now, nil)
    return .down
  }

  /// Keeps the client on the view's own rendition, because there is no lower one or it has failed, for a time
  /// that doubles with each call.
  mutating func refuse(at now: CaptureInstant) {
    (isLower, mayGoDown) = (false, now + wait)
    wait = min(wait * 2, Self.longestWait)
  }

  /// Starts again without the client's history, because the view has changed.
  mutating func reset() { self = VideoRendition(wait: shortestWait) }
}

extension ViewConfiguration {
  /// Returns the view at half the size, for a view whose pictures have `size`; nil if they are less than 160
  /// pixels wide.
  func halved(from size: Size) -> ViewConfiguration? {
    guard size.width >= 160 else { return nil }
    var half = self
    half.height = height.map { max($0 / 2, 1) }
    half.width = width.map { max($0 / 2, 1) }
    if half.width == nil, half.height == nil { half.width = size.width / 2 }
    half.labels = labels.map { label in
      var small = label
      small.font.size = label.font.size.map { max($0 / 2, 4) }
      small.margin = label.margin / 2
      small.maximumWidth = label.maximumWidth.map { max($0 / 2, 1) }
      return small
    }
    return half
  }
}
