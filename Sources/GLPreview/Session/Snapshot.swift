// What a trigger gives: the wanted views of one frame, when it was captured, and how its source was.
public import PreviewCore

/// Pictures of one and the same frame.
///
/// ```swift
/// let jpeg = try await snapshot["door"]?.jpeg(maxBytes: 100_000)
/// ```
public struct Snapshot: Sendable {
  /// The source's name.
  public let camera: String
  /// The frame's number among its source's.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`.
  public let timestamp: Duration
  /// When that was.
  public let time: WallTime
  /// How the source was: `.live` where the pictures are its own; else they are fallbacks, in its place.
  public let sourceState: SourceState
  /// One for each wanted view, in the order in which they were wanted.
  public let pictures: [RenderedPicture]

  /// A snapshot of frame `sequence`.
  ///
  /// - Parameters:
  ///   - camera: the source's name.
  ///   - sequence: the frame's number.
  ///   - timestamp: when it was captured, by `CaptureClock`.
  ///   - time: when that was; nil is worked out from `timestamp`.
  ///   - sourceState: `.live` unless the pictures are fallbacks.
  ///   - pictures: of this one frame.
  package init(
    camera: String, sequence: Int, timestamp: Duration, time: WallTime? = nil,
    sourceState: SourceState = .live, pictures: [RenderedPicture]
  ) {
    self.camera = camera
    self.sequence = sequence
    self.timestamp = timestamp
    self.time = time ?? WallTime(capturedAt: timestamp)
    self.sourceState = sourceState
    self.pictures = pictures
  }

  /// The picture of the view of that name; nil where that was not wanted.
  public subscript(name: String) -> RenderedPicture? { pictures.first { $0.name == name } }
}
