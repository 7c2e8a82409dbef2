// A picture of a preview or a snapshot, and its JPEGs, which all copies of it share.
internal import Synchronization

/// A drawn picture of a view or a scene, with the number and the capture time of its frame.
public struct RenderedPicture: Sendable {
  /// The name of the view or scene.
  public private(set) var name: String
  /// The samples.
  public let picture: Picture
  /// The number of the source's frame; for a scene, the number of the scene's picture.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`; for a scene, its newest frame; for a fallback, when it
  /// was drawn.
  public let timestamp: CaptureInstant
  /// `.live` if the picture shows the source, or is a scene; otherwise it is a fallback, and this says why.
  public let sourceState: SourceState
  /// The frame's ICC colour profile, for pictures of R, G and B.
  public let iccProfile: [UInt8]?
  /// The scale at which the source's JPEG was decoded, in eighths: 8 is full size.
  package let decodedEighths: Int
  /// Distinguishes it from the preview's other pictures.
  let key: PictureKey
  private let onEncode: @Sendable (Duration) -> Void
  private let encodings = PictureEncodings()

  /// Creates a picture; `onEncode` is called with the duration of each of its JPEG encodes.
  init(
    name: String, picture: Picture, _ key: PictureKey, timestamp: CaptureInstant,
    sourceState: SourceState = .live, iccProfile: [UInt8]? = nil, decodedEighths: Int = 8,
    onEncode: @escaping @Sendable (Duration) -> Void = { _ in }
  ) {
    self.name = name
    self.picture = picture
    self.key = key
    sequence = max(key.sequence, 0)
    self.timestamp = timestamp
    self.sourceState = sourceState
    self.iccProfile = iccProfile
    self.decodedEighths = decodedEighths
    self.onEncode = onEncode
  }

  /// Returns the same picture under another name; the two share their JPEGs.
  package func named(_ name: String) -> RenderedPicture {
    var picture = self
    picture.name = name
    return picture
  }

  /// Encodes the picture as a JPEG file, with its capture time in EXIF. A file without limits is encoded once
  /// for all copies of the picture.
  ///
  /// With `maxBytes`, the file has the highest quality up to `quality` that fits, to within a twentieth of
  /// the limit, if that is at least 30; otherwise a smaller size at quality 50, which the result's `size`
  /// reports. This takes at most eight encodes. The file is never larger than `maxBytes`, and the picture is
  /// never enlarged. A picture of R, G and B is encoded as 4:2:0.
  ///
  /// ```swift
  /// let thumbnail = try await picture.jpeg(maxBytes: 5_000, fitting: Size(width: 320, height: 320))
  /// ```
  ///
  /// - Parameters:
  ///   - quality: 1...100, libjpeg's scale; clamped.
  ///   - maxBytes: the most bytes that the file may have; nil for no limit.
  ///   - fitting: a size that the picture must fit into, with its aspect ratio kept; nil for no limit.
  ///   - exif: whether the file holds the time of capture. A fallback never does.
  /// - Returns: the file.
  /// - Throws: `PictureEncoder.Failure` if not even a picture of 16 pixels fits, with the bytes that it
  ///   takes; if `fitting` has no pixels; if a JPEG can't hold the picture.
  public func jpeg(
    quality: Int = 80, maxBytes: Int? = nil, fitting: Size? = nil, exif: Bool = true
  ) async throws -> EncodedPicture {
    guard maxBytes == nil, fitting == nil else {
      return try await Task(executorPreference: DecodingQueue.shared) {
        try encodedJPEG(quality: quality, maxBytes: maxBytes, fitting: fitting, exif: exif)
      }.value
    }
    return try await encodings.file(PictureEncodings.Key(quality: quality, exif: exif)) {
      try encodedJPEG(quality: quality, exif: exif)
    }
  }

  /// Does what `jpeg` does, on the calling thread; the file is not shared.
  package func encodedJPEG(
    quality: Int = 80, maxBytes: Int? = nil, fitting: Size? = nil, exif: Bool = true
  ) throws(PictureEncoder.Failure) -> EncodedPicture {
    let time = exif && sourceState == .live ? WallTime(capturedAt: timestamp) : nil
    let start = CaptureClock.now
    let encoded = try FittedJPEG(picture, iccProfile: iccProfile, capturedAt: time, quality: quality)
      .encode(maximumBytes: maxBytes, fitting: fitting)
    onEncode(CaptureClock.now - start)
    return encoded
  }

  /// Encodes the picture as a PNG file; the file is not shared.
  ///
  /// - Throws: `PictureEncoder.Failure` if the picture is not `.rgba`.
  public func png() async throws -> EncodedPicture {
    try await Task(executorPreference: DecodingQueue.shared) {
      try PictureEncoder(.png).encode(picture, iccProfile: iccProfile)
    }.value
  }
}

/// Distinguishes a picture of a preview from all others, so that no reader gets one twice.
struct PictureKey: Sendable, Hashable {
  /// The number of the source's frame, -1 before the first; of a scene, the number of its picture.
  var sequence: Int
  /// The version of the preview's configuration; nil for a picture that belongs to no preview.
  var version: Int?
  /// The number of the source's outage; 0 while the source is live.
  var outage = 0
  /// The pose of a view through a lens; nil for other pictures. It changes with each frame while the view moves.
  var pose: LensPose?
}

/// The JPEGs of one picture, each encoded once.
private final class PictureEncodings: Sendable {
  struct Key: Hashable {
    var quality: Int
    var exif: Bool
  }

  private let tasks = Mutex<[Key: Task<EncodedPicture, any Error>]>([:])

  /// Returns the file of `key`; the first call for it encodes it with `encode`.
  func file(_ key: Key, _ encode: @escaping @Sendable () throws -> EncodedPicture) async throws
    -> EncodedPicture
  {
    let task = tasks.withLock { tasks in
      if let task = tasks[key] { return task }
      let task = Task(executorPreference: DecodingQueue.shared, operation: encode)
      tasks[key] = task
      return task
    }
    return try await task.value
  }
}
