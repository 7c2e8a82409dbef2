// A picture of a preview on its way to those who look, and its JPEGs, each made once however many want it.
public import PreviewCore
internal import Synchronization

/// A rendered picture, and the frame that it was made of.
public struct PreviewFrame: Sendable {
  /// The preview's name.
  public let preview: String
  /// Which frame of the source it shows; of a scene, which of the scene's pictures it is.
  public let sequence: Int
  /// When the frame was captured, by `CaptureClock`; of a scene the newest one's.
  public let timestamp: Duration
  /// The picture.
  public let picture: Picture
  /// What stands in for a source that gives nothing; nil where the source itself is seen.
  public let fallback: FallbackReason?
  /// Of the frame, for what is encoded of it.
  public let iccProfile: [UInt8]?
  private let encodings = PictureEncodings()

  init(
    preview: String, sequence: Int, timestamp: Duration, picture: Picture, fallback: FallbackReason? = nil,
    iccProfile: [UInt8]? = nil
  ) {
    self.preview = preview
    self.sequence = sequence
    self.timestamp = timestamp
    self.picture = picture
    self.fallback = fallback
    self.iccProfile = iccProfile
  }

  /// A picture of a snapshot, to be encoded as these are.
  package init(_ picture: SnapshotPicture) {
    self.init(
      preview: picture.name, sequence: 0, timestamp: .zero, picture: picture.picture,
      iccProfile: picture.iccProfile)
  }

  /// The picture's JPEG, encoded beside the GPU's thread; copies of this frame share it.
  ///
  /// - Throws: `EncodingError` where the picture is not `.ycbcr`, or too large for a JPEG.
  public func jpeg(quality: Int = 80) async throws -> EncodedPicture {
    try await encodings.jpeg(of: picture, quality: quality, iccProfile)
  }
}

extension PreviewFrame {
  /// The picture's JPEG within a budget, as `SnapshotPicture.jpegData` makes it, beside Swift's own threads. It is made
  /// anew each time.
  ///
  /// - Throws: `EncodingError` as that does.
  public func jpeg(quality: Int = 80, maxBytes: Int) async throws -> EncodedPicture {
    let picture = SnapshotPicture(name: preview, picture: picture, iccProfile: iccProfile)
    return try await Task(executorPreference: DecodingQueue.shared) {
      try picture.jpegData(quality: quality, maxBytes: maxBytes)
    }.value
  }

  /// The picture's PNG, made beside Swift's own threads, anew each time.
  ///
  /// - Throws: `EncodingError` where the picture is not `.rgba`.
  public func png() async throws -> EncodedPicture {
    let (picture, profile) = (picture, iccProfile)
    return try await Task(executorPreference: DecodingQueue.shared) {
      try PictureEncoder(.png).encode(picture, iccProfile: profile)
    }.value
  }
}

/// What was encoded of one picture.
final class PictureEncodings: Sendable {
  private let tasks = Mutex<[Int: Task<EncodedPicture, any Error>]>([:])

  func jpeg(of picture: Picture, quality: Int, _ profile: [UInt8]?) async throws -> EncodedPicture {
    let task = tasks.withLock { tasks in
      if let task = tasks[quality] { return task }
      let task = Task(executorPreference: DecodingQueue.shared) {
        guard case .ycbcr(let chroma) = picture.format else {
          throw EncodingError(description: "a JPEG is made of Y'CbCr planes, not of \(picture.format)")
        }
        return try PictureEncoder(.jpeg, quality: quality, subsampling: chroma)
          .encode(picture, iccProfile: profile)
      }
      tasks[quality] = task
      return task
    }
    return try await task.value
  }
}
