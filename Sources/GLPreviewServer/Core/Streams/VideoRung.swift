// Which of two encodings of a view a client gets: the view's, or one of half the size at half the rate.

/// Decides for one client. It has no clock of its own.
struct VideoRung: Sendable {
  enum Move: Sendable, Hashable {
    case down, up
  }

  private(set) var isLower = false
  private var movedAt = CaptureInstant.start
  /// When it last went up, if that may still turn out to have been too early.
  private var triedAt: CaptureInstant?
  /// How long the client must keep up with the lower rung before it tries the upper one; at first `shortestWait`.
  private var wait: Duration
  private let shortestWait: Duration
  private var mayGoDown = CaptureInstant.start

  static let longestWait = Duration.seconds(600)
  /// A try has failed if the client is left behind again within this time.
  static let trial = Duration.seconds(120)

  init(wait: Duration = .seconds(30)) { (self.wait, shortestWait) = (wait, wait) }

  /// What the client does now. `lastDrop` is when it last dropped pictures on the rung that it is on.
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

  /// There is no lower rung, or it has failed: the client stays on the upper one, for a time that doubles each time.
  mutating func refuse(at now: CaptureInstant) {
    (isLower, mayGoDown) = (false, now + wait)
    wait = min(wait * 2, Self.longestWait)
  }

  /// The view has changed: what was known of the client does not hold any more.
  mutating func forget() { self = VideoRung(wait: shortestWait) }
}

extension ViewConfiguration {
  /// The same at half the size, where pictures of it have `size`; nil if they are small already.
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
