// A snapshot: the requested views of one frame, its capture time, and the state of its source.

/// Pictures of the same frame.
///
/// ```swift
/// let jpeg = try await snapshot["door"]?.jpeg(maxBytes: 100_000)
/// ```
public struct Snapshot: Sendable {
  /// The source's name.
  public let camera: String
  /// The number of the frame in its source.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`.
  public let timestamp: CaptureInstant
  /// The time of capture as wall-clock time.
  public let time: WallTime
  /// The state of the source. `.live` if the pictures show it; otherwise they are fallbacks.
  public let sourceState: SourceState
  /// The capture times of the earliest and the latest buffered picture of the source
  /// (`SessionSource.replay`); nil if there is none.
  public let replay: ClosedRange<WallTime>?
  /// One picture for each wanted view, in the wanted order.
  public let pictures: [RenderedPicture]

  /// Creates a snapshot of frame `sequence`.
  ///
  /// - Parameters:
  ///   - camera: the source's name.
  ///   - sequence: the frame's number.
  ///   - timestamp: when it was captured, by `CaptureClock`.
  ///   - time: the time of capture; nil computes it from `timestamp`.
  ///   - sourceState: `.live` unless the pictures are fallbacks.
  ///   - replay: the capture times of the source's earliest and latest buffered picture.
  ///   - pictures: the pictures of this frame.
  package init(
    camera: String, sequence: Int, timestamp: CaptureInstant, time: WallTime? = nil,
    sourceState: SourceState = .live, replay: ClosedRange<WallTime>? = nil, pictures: [RenderedPicture]
  ) {
    self.camera = camera
    self.sequence = sequence
    self.timestamp = timestamp
    self.time = time ?? WallTime(capturedAt: timestamp)
    self.sourceState = sourceState
    self.replay = replay
    self.pictures = pictures
  }

  /// The picture of the view of that name; nil if it was not wanted.
  public subscript(name: String) -> RenderedPicture? { pictures.first { $0.name == name } }
}
