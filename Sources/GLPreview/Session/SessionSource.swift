// The input of a session: a source's name and how to read it. The session opens and closes it as often as
// needed.
internal import Synchronization

/// A source of a session, and how it is read. The session opens it when needed.
public struct SessionSource: Sendable {
  /// The name that scenes, snapshots and messages use.
  public var name: String
  /// How it is read. The session sets `demand` and `memory` itself.
  public var options: SourceOptions
  /// Whether it stays open while no one reads it, so that the first picture comes at once. Default: false.
  public var keepsWarm = false
  /// Frames or time to discard after each opening of a live source. Default: nothing.
  public var warmup = Warmup.none
  /// Whether a file starts again after its end. Default: true. A still is not repeated.
  public var repeats = true
  /// How many of its recent pictures are buffered, for snapshots of an earlier time
  /// (`SnapshotRequest.Mode.at`). The source then stays open as with `keepsWarm`, and a camera runs at its
  /// reference size. Default: none.
  public var replay: Replay?
  /// The name of a source of the same camera whose replay buffer this one takes over.
  package var inheritsReplay: String?
  /// How long the first picture may take before a fallback is shown. Default: 1 second.
  public var opensWithin = Duration.seconds(1)
  /// The pause after a frame could not be read, before the source is read again.
  var failurePause = Duration.milliseconds(200)
  /// The pictures that are shown while it delivers none, by its state.
  public var fallback = Fallback.standard
  /// Whether a source that can't be opened, or whose reconnection has ended, is shown as lost and retried
  /// each second. Otherwise its readers get an error. Default: false.
  public var showsFailures = false
  /// Whether frames arrive on their own, as a camera's do, and the source may be lost and found again.
  public var isLive: Bool { origin.isLive }
  let origin: Origin

  /// How it is opened.
  struct Origin: Sendable {
    /// Whether frames arrive on their own; other sources are played at their rate.
    let isLive: Bool
    /// Whether it has several sizes, so that `SourceOptions.Demand` matters.
    let hasSizes: Bool
    let open: @Sendable (SourceOptions) async throws -> any FrameSource
  }

  /// Creates a source from its text: a path, `/dev/video0`, `rtsp://...`, `pattern:smpte`.
  ///
  /// - Parameters:
  ///   - text: as `SourceLocator` takes it.
  ///   - name: the name that the session's users see. Default: `camera`.
  ///   - options: how it is read.
  public init(_ text: String, name: String = "camera", options: SourceOptions = SourceOptions()) {
    let locator = SourceLocator(text)
    self.init(
      name: name, options: options,
      Origin(
        isLive: locator.isLive, hasSizes: locator.kind.hasSizes, open: { try await locator.open($0) }))
  }

  init(name: String, options: SourceOptions = SourceOptions(), _ origin: Origin) {
    self.name = name
    self.options = options
    self.origin = origin
  }

  /// Opens it; `reference` is its reference size if known. A source that is not live is played at its frame
  /// rate.
  ///
  /// Its pictures are buffered in `replay` before they are masked. A source that is not live is then read
  /// like a camera.
  func open(
    _ demand: SourceOptions.Demand, reference: Size?, memory: FramePool,
    bufferedIn replay: ReplayBuffer? = nil
  ) async throws -> any FrameSource {
    var options = options
    options.demand = demand
    options.memory = memory
    // Masks stay in their place, whatever the size of the pictures.
    options.referenceSize = reference
    // Pictures from the warm-up must not reach any reader.
    options.passesVideo = warmup == .none
    if let replay, !origin.isLive { return try await openPaced(options, bufferedIn: replay) }
    options.replay = replay
    let source = try await origin.open(options)
    return origin.isLive || source.isLive ? source : PacedSource(source, repeats: repeats)
  }
}

extension SessionSource {
  private func openPaced(_ options: SourceOptions, bufferedIn replay: ReplayBuffer) async throws
    -> any FrameSource
  {
    var unmasked = options
    unmasked.masks = []
    let source = try await origin.open(unmasked)
    guard source.isLive else {
      var options = options
      options.replay = replay
      return LiveSource(PacedDevice(PacedSource(source, repeats: repeats)), options)
    }
    // The source has turned out to be live, such as a pipe. It is opened again, and fills the replay buffer
    // itself.
    await source.close()
    var live = options
    live.replay = replay
    return try await origin.open(live)
  }

  /// Whether it stays open while no one reads it.
  var staysOpen: Bool { keepsWarm || replay != nil }
}

/// A file or a pattern as a camera that is connected once.
private struct PacedDevice: CaptureDevice, CaptureConnection {
  let source: PacedSource
  var name: String { source.name }
  var reconnectsWhenSilent: Bool { false }

  init(_ source: PacedSource) { self.source = source }

  func connect() async throws -> any CaptureConnection { self }

  var mode: SourceStatus.Mode {
    get async {
      SourceStatus.Mode(
        format: "frames", framesPerSecond: await source.framesPerSecond, transport: "file")
    }
  }

  func next() async throws -> Capture? {
    do { return try await source.nextFrame().map { Capture($0) } } catch let error as SourceError {
      guard error.kind == .badData else { throw error }
      // A damaged frame takes as long as a whole one, so that a file of only damaged frames is not read
      // without a pause.
      try await CaptureClock().sleep(until: CaptureClock.now + max(source.interval, .milliseconds(10)))
      throw DamagedCapture(error.reason)
    }
  }

  func close() async { await source.close() }
}

/// A source that knows whether an unread frame is available.
protocol TimelySource: FrameSource {
  /// Whether `nextFrame` would return one at once.
  var hasNewFrame: Bool { get }
}

extension LiveSource: TimelySource {}

/// Plays the frames of a file or a pattern at their rate; their timestamps are the times of delivery.
actor PacedSource: TimelySource {
  nonisolated let name: String
  private let source: any FrameSource
  private let repeats: Bool
  /// The clock time that corresponds to the file's timestamp zero.
  private var start: CaptureInstant?
  private var lastGiven: CaptureInstant?
  /// When the next frame is due, according to the rate.
  private nonisolated let nextDue = Mutex(CaptureInstant.start)
  private var sequence = 0
  private var isEmpty = true
  private var hasSeveral = false

  /// If a reader is later than this, playback continues from the frame that it gets.
  private static let largestLag = Duration.seconds(1)

  init(_ source: any FrameSource, repeats: Bool) {
    name = source.name
    self.source = source
    self.repeats = repeats
  }

  var framesPerSecond: Double? { get async { await source.framesPerSecond } }

  /// Waits until the next frame is due.
  func nextFrame() async throws -> Frame? {
    guard let frame = try await frameOrAgain() else { return nil }
    let position = frame.timestamp.sinceStart
    let due = start.map { $0 + position } ?? CaptureClock.now
    try await CaptureClock().sleep(until: due)
    let given = CaptureClock.now
    lastGiven = given
    let interval = await interval
    nextDue.withLock { $0 = given + interval }
    start = (given - due > Self.largestLag ? given : due) - position
    defer { sequence += 1 }
    return frame.with(sequence: sequence, timestamp: given)
  }

  private func frameOrAgain() async throws -> Frame? {
    if let frame = try await source.nextFrame() {
      hasSeveral = !isEmpty
      isEmpty = false
      return frame
    }
    // A still is not repeated, and an empty source can't be.
    guard repeats, hasSeveral else { return nil }
    try await rewind()
    guard let frame = try await source.nextFrame() else {
      throw SourceError(.badData, path: name, reason: "has no frames any more")
    }
    return frame
  }

  func rewind() async throws {
    try await source.rewind()
    // The last frame is shown as long as any other.
    let interval = await interval
    start = lastGiven.map { $0 + interval }
  }

  nonisolated var hasNewFrame: Bool { nextDue.withLock { $0 } <= CaptureClock.now }

  /// The time between frames; zero if the source reports no rate.
  fileprivate var interval: Duration {
    get async { await source.framesPerSecond.map { Duration.seconds(1 / $0) } ?? .zero }
  }

  func close() async { await source.close() }
}
