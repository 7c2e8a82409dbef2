// The status of a live source: its state, its mode, what it has counted.
public import PreviewCore

/// What a live source has counted since it was made.
public struct SourceCounters: Sendable, Hashable, Codable {
  /// Pictures that arrived, damaged ones among them.
  public var received = 0
  /// Pictures that arrived, but were given to nobody: a newer one came before they were asked for.
  public var dropped = 0
  /// Pictures that were made and never reached us, where the source tells.
  public var missed = 0
  /// Pictures that arrived broken.
  public var damaged = 0
  /// Connections beyond the first.
  public var reconnections = 0

  /// Nothing yet.
  public init() {}
}

/// How a live source is.
public struct SourceStatus: Sendable, Hashable {
  /// Where it stands.
  public var state: SourceState
  /// Since when, by `CaptureClock`.
  public var since: Duration
  /// Why it is stalled or lost, in one line.
  public var reason: String?
  /// What was wrong with the last damaged picture, in one line.
  public var lastDamage: String?
  /// What is delivered; nil before the first connection.
  public var mode: CaptureMode?
  /// What was counted.
  public var counters = SourceCounters()
  /// Whether nothing comes any more: it is closed, at its end, or given up.
  public var isFinished = false

  init(_ state: SourceState, since: Duration) {
    self.state = state
    self.since = since
  }
}

/// What a connection delivers.
public struct CaptureMode: Sendable, Hashable {
  /// As the source calls it: `YUYV`, `MJPEG`, `h264`.
  public var format: String
  /// As stored, in pixels; nil where the first picture will tell.
  public var size: Size?
  /// The size in whose pixels masks and crops are; nil where the source has no choice of sizes.
  public var referenceSize: Size?
  /// Nil where the source does not say.
  public var framesPerSecond: Double?
  /// How pictures come to us: `mmap`, `http`, `rtsp over tcp`, `pipe`.
  public var transport: String

  init(format: String, size: Size? = nil, framesPerSecond: Double? = nil, transport: String) {
    self.format = format
    self.size = size
    self.framesPerSecond = framesPerSecond
    self.transport = transport
  }
}
