// What a session is given to look at: a source's name and how to read it, opened and closed as often as it takes.
public import PreviewCore
internal import Synchronization

/// A source of a session. Nothing is opened yet.
public struct SessionSource: Sendable {
  /// What the session's users call it: in scenes, snapshots, messages.
  public var name: String
  /// How it is read. The session sets `demand` and `memory` itself.
  public var options: SourceOptions
  /// Whether it stays open while nobody looks, so that the first picture comes at once. False unless told.
  public var keepsWarm = false
  /// Whether a file begins again after its end. True unless told; a still stays.
  public var repeats = true
  /// How long the first picture may take before a fallback stands in for it. 1 second unless told.
  public var opensWithin = Duration.seconds(1)
  /// What is seen while it gives nothing.
  public var fallback = Fallback.standard
  /// Whether one that can't be opened, or is given up, is shown as lost and tried again each second; else who reads it is
  /// told by an error. False unless told.
  public var showsFailures = false
  /// Whether frames come by themselves, as a camera's do, and it may be lost and found again.
  public var isLive: Bool { origin.isLive }
  let origin: Origin

  /// How it is opened.
  struct Origin: Sendable {
    /// Whether frames come by themselves; others are given out in their own time.
    let isLive: Bool
    /// Whether it has a choice of sizes, so that `CaptureDemand` makes a difference.
    let hasSizes: Bool
    let open: @Sendable (SourceOptions) async throws -> any FrameSource
  }

  /// What `text` leads to: a path, `/dev/video0`, `rtsp://...`, `pattern:smpte`.
  ///
  /// - Parameters:
  ///   - text: as `SourceLocator` takes it.
  ///   - name: what the session's users call it; `camera` unless told.
  ///   - options: how it is read.
  public init(_ text: String, name: String = "camera", options: SourceOptions = SourceOptions()) {
    let locator = SourceLocator(text)
    self.init(
      name: name, options: options,
      Origin(
        isLive: locator.isLive, hasSizes: LiveKind(text) == .camera, open: { try await locator.open($0) }))
  }

  init(name: String, options: SourceOptions = SourceOptions(), _ origin: Origin) {
    self.name = name
    self.options = options
    self.origin = origin
  }

  /// Opens it; `reference` is its reference size, where that is known. What does not come by itself comes in its own time.
  func open(_ demand: CaptureDemand, reference: Size?, memory: FramePool) async throws -> any FrameSource {
    var options = options
    options.demand = demand
    options.memory = memory
    // Masks stay where they were said to be, however large the pictures come.
    options.referenceSize = reference
    let source = try await origin.open(options)
    return origin.isLive || source.isLive ? source : PacedSource(source, repeats: repeats)
  }
}

/// A source that knows whether a frame is there that nobody has had.
protocol TimelySource: FrameSource {
  /// Whether `nextFrame` would give one at once.
  var hasNewFrame: Bool { get }
}

extension LiveSource: TimelySource {}

/// Gives the frames of a file or a pattern at the pace at which they are to be seen, with the time at which they are given.
actor PacedSource: TimelySource {
  nonisolated let name: String
  private let source: any FrameSource
  private let repeats: Bool
  /// What the clock showed at the file's zero.
  private var start: Duration?
  private var lastGiven: Duration?
  /// When the next frame is due, as far as the rate tells.
  private nonisolated let nextDue = Mutex(Duration.zero)
  private var sequence = 0
  private var isEmpty = true
  private var hasSeveral = false

  /// Who asks so late gets the next frame all the same, and the pace goes on from there.
  private static let patience = Duration.seconds(1)

  init(_ source: any FrameSource, repeats: Bool) {
    name = source.name
    self.source = source
    self.repeats = repeats
  }

  var framesPerSecond: Double? { get async { await source.framesPerSecond } }

  /// Waits until it is the next frame's time.
  func nextFrame() async throws -> Frame? {
    guard let frame = try await frameOrAgain() else { return nil }
    let now = CaptureClock.now
    let due = (start ?? now - frame.timestamp) + frame.timestamp
    if due > now { try await pause(due - now) }
    let given = CaptureClock.now
    lastGiven = given
    let interval = await interval
    nextDue.withLock { $0 = given + interval }
    start = given - due > Self.patience ? given - frame.timestamp : due - frame.timestamp
    defer { sequence += 1 }
    return frame.with(sequence: sequence, timestamp: given)
  }

  private func frameOrAgain() async throws -> Frame? {
    if let frame = try await source.nextFrame() {
      hasSeveral = !isEmpty
      isEmpty = false
      return frame
    }
    // A still is not given twice, and nothing not at all.
    guard repeats, hasSeveral else { return nil }
    try await rewind()
    return try await source.nextFrame()
  }

  func rewind() async throws {
    try await source.rewind()
    // The last frame is seen as long as any other.
    let interval = await interval
    start = lastGiven.map { $0 + interval }
  }

  nonisolated var hasNewFrame: Bool { nextDue.withLock { $0 } <= CaptureClock.now }

  /// From a frame to the next, where the source says.
  private var interval: Duration {
    get async { await source.framesPerSecond.map { Duration.seconds(1 / $0) } ?? .zero }
  }

  func close() async { await source.close() }
}
