// The status of a live source: its state, its mode and its counters.

/// The status of a live source.
public struct SourceStatus: Sendable, Hashable {
  /// The current state.
  public var state: SourceState
  /// When the state last changed, by `CaptureClock`.
  public var since: CaptureInstant
  /// Why the source is stalled or lost, in one line.
  public var reason: String?
  /// The damage of the last damaged picture, in one line.
  public var lastDamage: String?
  /// The mode of the connection; nil before the first one.
  public var mode: Mode?
  /// The counters.
  public var counters = Counters()
  /// Whether no more pictures follow: the source is closed, at its end, or has given up.
  public var isFinished = false

  init(_ state: SourceState, since: CaptureInstant) {
    self.state = state
    self.since = since
  }
}

extension SourceStatus {
  /// The counters of a live source since it was created.
  public struct Counters: Sendable, Hashable, Codable {
    /// Pictures that arrived, including damaged ones.
    public var received = 0
    /// Pictures that arrived but were not delivered: a newer one replaced them, or there was no memory to
    /// decode them. In a session, replaced pictures count only while a reader needs every picture.
    public var dropped = 0
    /// Pictures that were captured but never arrived, if the source reports that.
    public var missed = 0
    /// Pictures that arrived damaged.
    public var damaged = 0
    /// Connections after the first one.
    public var reconnections = 0

    package init() {}
  }

  /// The format, size and rate that a connection delivers.
  public struct Mode: Sendable, Hashable {
    /// The source's own name of the format: `YUYV`, `MJPEG`, `h264`.
    public var format: String
    /// The stored size in pixels; nil until the first picture if only that determines it.
    public var size: Size?
    /// The size whose pixels masks and crops refer to; nil if the source has only one size.
    public var referenceSize: Size?
    /// Frames per second; nil if the source does not report it.
    public var framesPerSecond: Double?
    /// The transport of pictures: `mmap`, `dma-buf`, `http`, `rtsp over tcp`, `pipe`.
    public var transport: String
    /// Why pictures are copied though they may be read in place (`SourceOptions.dmaBuffers`); nil if they are not copied, or need not be
    /// read in place.
    public var copyingReason: String?
    /// For H.264: why it is not passed through; nil while it may be.
    package var videoRefusal: String?

    package init(
      format: String, size: Size? = nil, referenceSize: Size? = nil, framesPerSecond: Double? = nil,
      transport: String
    ) {
      (self.format, self.size, self.referenceSize) = (format, size, referenceSize)
      (self.framesPerSecond, self.transport) = (framesPerSecond, transport)
    }
  }
}
