// The parameters of a snapshot: its frame, its views, and what it shows if the source delivers no pictures.

/// A request for a snapshot.
public struct SnapshotRequest: Sendable, Hashable {
  /// Selects the frame of a snapshot. A source at its end, such as a still, delivers its last frame.
  public enum Mode: Sendable, Hashable {
    /// The current frame if it is no older than this, otherwise the next one.
    case newest(maxAge: Duration)
    /// The first frame that is captured after the call.
    case next
    /// A frame of the camera's largest size. The camera is switched to that size and back; previews pause
    /// meanwhile. `settling` frames are skipped first, for the exposure to settle; a negative number counts
    /// as 0. A camera with masks or crops delivers a frame of its reference size, and a source with only one
    /// size delivers the next frame.
    case still(settling: Int)
    /// The newest buffered frame that was captured at this time or before (`SessionSource.replay`), whatever
    /// the source shows now. `NotBuffered` is thrown if it is no longer buffered, or never was.
    case at(CaptureInstant)
    /// The sharpest of the buffered frames of this time range: the one whose luma has the largest variance of
    /// the Laplacian, drawn at most 320 pixels wide. At most 24 are compared, evenly distributed. `NotBuffered`
    /// is thrown if there is none.
    case sharpest(ClosedRange<CaptureInstant>)

    /// Whether it selects a buffered frame.
    package var isBuffered: Bool {
      switch self {
      case .at, .sharpest: true
      case .newest, .next, .still: false
      }
    }

    /// The current frame if it is no older than a second, otherwise the next one.
    public static let newest = Mode.newest(maxAge: .seconds(1))
    /// A still after two frames.
    public static let still = Mode.still(settling: 2)
  }

  /// The behaviour of a snapshot whose source delivers no pictures.
  public enum FallbackPolicy: String, Sendable, Hashable, CaseIterable {
    /// The source's `Fallback`.
    case placeholder
    /// The last frame, however old; the placeholder if there was none. `Snapshot.sourceState` is the source's
    /// state.
    case lastFrame = "last"
    /// Nothing: the snapshot fails with `SourceError`.
    case error
  }

  /// Which frame is taken.
  public var mode: Mode
  /// The previews, by name and in this order; nil for all. A preview of a scene shows the scene as it is.
  public var previews: [String]?
  /// The sample format of the pictures. Default: Y'CbCr 4:2:0, for JPEGs.
  public var format: Picture.Format
  /// The behaviour if the source delivers no pictures.
  public var fallback: FallbackPolicy
  /// The time limit. Default: 5 seconds.
  public var timeout: Duration
  /// Frames or time to discard from a camera that was opened for the snapshot or shortly before, until its
  /// exposure has settled. Default: nothing beyond `SessionSource.warmup`.
  public var warmup = Warmup.none
  /// Whether views with crops that are not previews will be drawn from it; a camera then gives a frame of its
  /// reference size. Default: false. Previews with crops need no such setting.
  package var isCropped = false
  /// Whether a camera's own JPEG will do. Nothing is drawn then, and nothing can be (`CapturedFrame.passed`).
  /// Default: false.
  package var passes = false
  /// Whether the snapshot waits until `timeout` for a source that is being opened; otherwise it shows the
  /// source's fallback at once. Default: false.
  package var waitsForOpening = false

  /// Creates a request, by default for the newest frame in all previews.
  public init(
    _ mode: Mode = .newest, of previews: [String]? = nil, as format: Picture.Format = .ycbcr(.yuv420),
    fallback: FallbackPolicy = .placeholder, timeout: Duration = .seconds(5)
  ) {
    self.mode = mode
    self.previews = previews
    self.format = format
    self.fallback = fallback
    self.timeout = timeout
  }
}
