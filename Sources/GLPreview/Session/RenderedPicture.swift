// A picture that a preview or a snapshot gives, and its JPEGs: copies share them.
internal import Synchronization

/// A picture of a view or a scene, and the frame that it shows.
public struct RenderedPicture: Sendable {
  /// The name of the view or scene.
  public private(set) var name: String
  /// The samples.
  public let picture: Picture
  /// The number of the source's frame; for a scene, the number of the scene's picture.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`; for a scene, its newest frame; for a fallback, when it was drawn.
  public let timestamp: CaptureInstant
  /// `.live` if the picture shows the source, or is a scene; otherwise it is a fallback, and this says why.
  public let sourceState: SourceState
  /// The frame's colour profile, for R, G and B.
  public let iccProfile: [UInt8]?
  /// Tells it from the preview's other pictures.
  let key: PictureKey
  private let onEncode: @Sendable (Duration) -> Void
  private let encodings = PictureEncodings()

  /// Creates a picture; `onEncode` is called with the duration of each of its JPEG encodes.
  init(
    name: String, picture: Picture, _ key: PictureKey, timestamp: CaptureInstant,
    sourceState: SourceState = .live, iccProfile: [UInt8]? = nil,
    onEncode: @escaping @Sendable (Duration) -> Void = { _ in }
  ) {
    self.name = name
    self.picture = picture
    self.key = key
    sequence = max(key.sequence, 0)
    self.timestamp = timestamp
    self.sourceState = sourceState
    self.iccProfile = iccProfile
    self.onEncode = onEncode
  }

  /// The same picture under another name; it shares the JPEGs.
  package func named(_ name: String) -> RenderedPicture {
    var picture = self
    picture.name = name
    return picture
  }

  /// The picture as a JPEG file, with its time of capture in EXIF. Copies of it share a file that has no limit.
  ///
  /// With `maxBytes`, the file has the highest quality up to `quality` that fits, to within a twentieth of the limit,
  /// if that is at least 30; otherwise a smaller size at quality 50, which the result's `size` tells. This takes at
  /// most eight encodes. The file is never larger than `maxBytes`, and the picture is never enlarged. A picture of R, G
  /// and B is encoded as 4:2:0.
  ///
  /// ```swift
  /// let thumbnail = try await picture.jpeg(maxBytes: 5_000, fitting: Size(width: 320, height: 320))
  /// ```
  ///
  /// - Parameters:
  ///   - quality: 1...100, libjpeg's scale; clamped.
  ///   - maxBytes: the most bytes that the file may have; nil for no limit.
  ///   - fitting: a size that the picture must lie within, its shape kept; nil for no limit.
  ///   - exif: whether the file holds the time of capture. A fallback never does.
  /// - Returns: the file.
  /// - Throws: `PictureEncoder.Failure` if not even a picture of 16 pixels fits, with the bytes that it takes; if
  ///   `fitting` has no pixels; if a JPEG can't hold the picture.
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

  /// `jpeg` on the calling thread; the file is not shared.
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

  /// The picture as a PNG file, encoded anew each time.
  ///
  /// - Throws: `PictureEncoder.Failure` if the picture is not `.rgba`.
  public func png() async throws -> EncodedPicture {
    try await Task(executorPreference: DecodingQueue.shared) {
      try PictureEncoder(.png).encode(picture, iccProfile: iccProfile)
    }.value
  }
}

/// Tells a picture of a preview from all others, so that no reader gets the same one twice.
struct PictureKey: Sendable, Hashable {
  /// The number of the source's frame, -1 before the first; of a scene, the number of its picture.
  var sequence: Int
  /// The version of the preview's configuration; nil for what no preview shows.
  var version: Int?
  /// The number of the source's outage; 0 while the source is live.
  var outage = 0
}

/// The JPEGs of one picture, each encoded once.
private final class PictureEncodings: Sendable {
  struct Key: Hashable {
    var quality: Int
    var exif: Bool
  }

  private let tasks = Mutex<[Key: Task<EncodedPicture, any Error>]>([:])

  /// The file of `key`, which `encode` makes for the first that asks.
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
