// Which frame a snapshot is of.

/// Which frame a snapshot is of; of a source that is at its end, as a still is, the last one.
public enum SnapshotMode: Sendable, Hashable {
  /// What is there already, at once, where it is no older than that; else the next frame.
  case newest(maxAge: Duration)
  /// The first frame that is captured after the call.
  case next
  /// A frame of the camera's largest size: it is switched to that, and back; previews pause and go on. So many frames
  /// are passed over first, for the exposure to settle; a negative number counts as 0. Of a camera with masks, or of which a
  /// part is shown, a frame of its reference size; of a source without a choice of sizes, the next frame.
  case still(settling: Int)

  /// What is there, if it is no older than a second.
  public static let newest = SnapshotMode.newest(maxAge: .seconds(1))
  /// A still after two frames.
  public static let still = SnapshotMode.still(settling: 2)
}

/// What a snapshot shows of a source that gives no pictures.
public enum FallbackPolicy: String, Sendable, Hashable, CaseIterable {
  /// The source's `Fallback`.
  case placeholder
  /// The last frame, however old; the placeholder if there never was one. `Snapshot.sourceState` tells.
  case lastFrame = "last"
  /// Nothing: the snapshot fails with `SourceError`.
  case error
}

/// What a snapshot is to be.
public struct SnapshotRequest: Sendable, Hashable {
  /// Which frame.
  public var mode: SnapshotMode
  /// Which previews, by name, in this order; nil is all of them. Those of a scene show it as it is.
  public var previews: [String]?
  /// How the pictures' samples lie; Y'CbCr 4:2:0, for JPEGs, unless told.
  public var format: PictureFormat
  /// What becomes of it where the source gives nothing.
  public var fallback: FallbackPolicy
  /// How long it may take. 5 seconds unless told.
  public var timeout: Duration
  /// Whether views with crops, which are no previews, are to be drawn of it: then the frame of a camera is one of its
  /// reference size. False unless told; previews with crops see to that themselves.
  public var isCropped = false

  /// The newest frame in all previews, unless said otherwise.
  public init(
    _ mode: SnapshotMode = .newest, of previews: [String]? = nil, as format: PictureFormat = .ycbcr(.yuv420),
    fallback: FallbackPolicy = .placeholder, timeout: Duration = .seconds(5)
  ) {
    self.mode = mode
    self.previews = previews
    self.format = format
    self.fallback = fallback
    self.timeout = timeout
  }
}
