// What a trigger gives: the wanted views of one frame, when it was captured, and how its source was.
public import PreviewCore

/// Pictures of one and the same frame.
///
/// ```swift
/// let jpeg = try snapshot["door"]?.jpegData(maxBytes: 100_000)
/// ```
public struct Snapshot: Sendable, Equatable {
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
  public let pictures: [SnapshotPicture]

  /// A snapshot of frame `sequence`.
  ///
  /// - Parameters:
  ///   - camera: the source's name.
  ///   - sequence: the frame's number.
  ///   - timestamp: when it was captured, by `CaptureClock`.
  ///   - time: when that was; nil is worked out from `timestamp`.
  ///   - sourceState: `.live` unless the pictures are fallbacks.
  ///   - pictures: of this one frame.
  public init(
    camera: String, sequence: Int, timestamp: Duration, time: WallTime? = nil,
    sourceState: SourceState = .live, pictures: [SnapshotPicture]
  ) {
    self.camera = camera
    self.sequence = sequence
    self.timestamp = timestamp
    self.time = time ?? WallTime(capturedAt: timestamp)
    self.sourceState = sourceState
    self.pictures = pictures
  }

  /// The picture of the view of that name; nil where that was not wanted.
  public subscript(name: String) -> SnapshotPicture? { pictures.first { $0.name == name } }
}

/// One view of a snapshot's frame.
public struct SnapshotPicture: Sendable, Equatable {
  /// The view's.
  public let name: String
  /// Its samples.
  public let picture: Picture
  /// Of the frame: a profile of R, G, B that goes into what is encoded.
  public let iccProfile: [UInt8]?

  /// `picture` of the view `name`.
  public init(name: String, picture: Picture, iccProfile: [UInt8]? = nil) {
    self.name = name
    self.picture = picture
    self.iccProfile = iccProfile
  }

  /// The picture as a JPEG file, where needed of less quality or smaller, so that it fits.
  ///
  /// Under a budget the best quality up to `quality` that fits is taken, within a twentieth of the budget, as long as
  /// that is at least 30; else the size is reduced, at quality 50, and `size` of the result tells what came out. That takes
  /// eight encodes at most, and nothing is ever returned that is larger than the budget. Nothing is enlarged, and colours
  /// stay at 4:2:0 where the picture is no Y'CbCr.
  ///
  /// ```swift
  /// let thumbnail = try picture.jpegData(maxBytes: 5_000, fitting: Size(width: 320, height: 320))
  /// ```
  ///
  /// - Parameters:
  ///   - quality: 1...100, libjpeg's scale; what is outside counts as the nearest.
  ///   - maxBytes: the most bytes that the file may have; nil is no limit.
  ///   - fitting: the size that it must lie within, by the shape of the picture; nil leaves it.
  /// - Returns: the file.
  /// - Throws: `EncodingError` where not even a picture of 16 pixels fits, with how many bytes that takes; where `fitting`
  ///   has no pixels; where a JPEG can't hold the picture.
  public func jpegData(quality: Int = 80, maxBytes: Int? = nil, fitting: Size? = nil) throws(EncodingError)
    -> EncodedPicture
  {
    try FittedJPEG(picture, iccProfile: iccProfile, quality: quality)
      .encode(maximumBytes: maxBytes, fitting: fitting)
  }
}
