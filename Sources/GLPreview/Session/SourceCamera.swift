// The camera of a feed: whether it is open, in which size, and how its pictures are counted.
// `SourceFeed+Camera` opens and closes it.

/// An open source, and the demand that it was opened with.
struct OpenSource: Sendable {
  /// A picture, nil at the end; the error of damaged frames that were skipped before it; the source's
  /// reference size, if it reports one.
  typealias Fetched = (picture: CameraPicture?, damage: SourceError?, reference: Size?)

  let source: any FrameSource
  let demand: SourceOptions.Demand
  /// The number of this opening.
  let number: Int
  /// The number from which its pictures are counted, to match those in the replay buffer; 0 without one.
  let firstSequence: Int
  /// Tasks that follow its states; empty if it has none.
  var watchers: [Task<Void, Never>] = []
  /// The request for a picture that is in progress.
  var fetch: Task<Fetched, any Error>?
  /// Whether it has given a picture since it was opened.
  var hasGivenPicture = false
  /// The number of its first picture that was shown, which those of a warm-up are not; nil before it.
  var firstShown: Int?
  /// The capture time of its first picture, and the number of pictures so far.
  var start: CaptureInstant?
  var pictureCount = 0
}

/// The state of a camera, and the decisions about it, as a value. The tasks in it do the work.
struct SourceCamera {
  /// How long it stays open without a reader.
  let linger: Duration
  /// Feeds that must be closed before this one opens its source, because a camera can't be opened twice.
  var predecessors: [@Sendable () -> SourceFeed?]
  let predecessorsCloseWithin: Duration
  var opened: OpenSource?
  /// The opening in progress, shared by all that wait for it.
  var opening: Task<any FrameSource, any Error>?
  /// The last closing; the next opening waits for it.
  var lastClosing: Task<Void, Never>?
  /// Closes the source after `linger`, unless a reader comes back.
  var closing: Task<Void, Never>?
  var resizing: Task<Void, Never>?
  /// The number of the first picture that was current when the camera was closed for another size; nil otherwise. Readers get
  /// that picture and later ones until the camera gives new ones.
  var currentBeforeResizing: Int?
  /// The still in progress.
  var still: Task<FeedEvent?, any Error>?
  /// Whether the last frame could not be read from the open source.
  var isFailing = false
  var isOn = true
  /// Whether it is open, or being opened, or takes a still.
  var isActive: Bool { opened != nil || opening != nil || still != nil }
  private var openings = 0
  /// The number of the next frame, across all connections.
  private(set) var nextSequence = 0

  init(linger: Duration, after predecessors: [SourceFeed], within predecessorsCloseWithin: Duration) {
    self.linger = linger
    // Weak, so that a waiting feed does not keep them alive.
    self.predecessors = predecessors.map { feed in { [weak feed] in feed } }
    self.predecessorsCloseWithin = predecessorsCloseWithin
  }

  /// Stores a source that was opened; returns the number of the opening.
  mutating func open(
    _ source: any FrameSource, _ demand: SourceOptions.Demand, countedFrom first: Int
  ) -> Int {
    openings += 1
    opened = OpenSource(source: source, demand: demand, number: openings, firstSequence: first)
    return openings
  }

  /// Removes and returns the open source, which is to be closed; nil if there is none.
  mutating func close() -> OpenSource? {
    guard let closed = opened else { return nil }
    (opened, isFailing, currentBeforeResizing) = (nil, false, nil)
    return closed
  }

  /// Returns the number of the next picture, which has the number `sequence` in its source. Numbers continue
  /// when a connection counts from 0 again; gaps are the source's.
  mutating func number(_ sequence: Int = 0) -> Int {
    nextSequence = max(nextSequence, (opened?.firstSequence ?? 0) + sequence)
    defer { nextSequence += 1 }
    return nextSequence
  }

  /// Counts a picture captured at `time`. Returns whether it is hidden because the warm-up lasts.
  mutating func isWarmingUp(_ warmup: Warmup, at time: CaptureInstant) -> Bool {
    guard let opened else { return false }
    let start = opened.start ?? time
    self.opened?.start = start
    self.opened?.pictureCount += 1
    return warmup.lasts(after: opened.pictureCount, from: start, at: time)
  }

  /// Whether a warm-up that began when the source was opened lasts at its newest picture, captured at `time`.
  func lasts(_ warmup: Warmup, at time: CaptureInstant) -> Bool {
    guard let opened, let start = opened.start else { return false }
    return warmup.lasts(after: opened.pictureCount - 1, from: start, at: time)
  }

  /// Returns how soon the camera is to change its size for a demand; nil if it keeps it. Larger pictures are
  /// requested at once, smaller ones only after a while, because a camera that changes its size pauses.
  func resizes(for wanted: SourceOptions.Demand) -> Duration? {
    guard let demand = opened?.demand, wanted != demand else { return nil }
    if !wanted.isServed(by: demand) { return .zero }
    return wanted.isMuchLess(than: demand) ? .seconds(5) : nil
  }
}

extension SourceOptions.Demand {
  /// Whether pictures requested with `other` are large enough.
  fileprivate func isServed(by other: SourceOptions.Demand) -> Bool {
    guard isPinned == other.isPinned else { return other.isPinned }
    guard let size = minimumSize, let theirs = other.minimumSize else { return other.minimumSize == nil }
    return size.width <= theirs.width && size.height <= theirs.height
  }

  /// Whether the difference is worth the pause of a change.
  fileprivate func isMuchLess(than other: SourceOptions.Demand) -> Bool {
    guard let size = minimumSize else { return false }
    guard let theirs = other.minimumSize else { return true }
    return 2 * size.pixelCount <= theirs.pixelCount
  }
}
