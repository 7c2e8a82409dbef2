// What a snapshot shows, and what determines its bytes.

/// The frame or scene that a snapshot shows.
struct SnapshotSubject: Sendable {
  /// The name of the camera or scene.
  let camera: String
  /// The frame's capture time, and the source's state.
  let timestamp: CaptureInstant
  let time: WallTime
  let state: SourceState
  /// The upright size of the source; nil for a scene, and before the first frame.
  let sourceSize: Size?
  let key: SnapshotKey

  /// The frame's number.
  var sequence: Int { key.sequence }

  /// The entity tag, which differs between any two answers whose bytes may differ.
  var entityTag: String { key.entityTag }
}

/// All values that determine a picture.
struct SnapshotKey: Hashable {
  /// The unique name of the view's preview: a later view with the same name has another preview.
  let target: String
  let sequence: Int
  var timestamp: CaptureInstant
  /// The state that a fallback picture shows; nil for a frame of the camera.
  var state: SourceState?
  var reason: String?
  /// A view that moves as it is drawn in this frame.
  var view: ViewConfiguration
  /// Nil for the camera's original JPEG.
  var quality: Int?
  let format: EncodedPicture.Format
  let encoding: SnapshotEncoding
  let maximumBytes: Int?
  let hasEXIF: Bool

  /// Distinguishes processes, because hashes and frame numbers start again in each.
  private static let epoch = String(UInt32.random(in: 0...UInt32.max), radix: 36)

  var entityTag: String {
    "\"\(Self.epoch)-\(sequence)-\(String(UInt(bitPattern: hashValue), radix: 36))\""
  }

  init(_ query: SnapshotQuery, of target: ServedPreview, sequence: Int, timestamp: CaptureInstant) {
    self.target = target.preview.name
    self.sequence = sequence
    self.timestamp = timestamp
    view = query.served.view
    quality = query.served.encodedQuality
    format = query.format
    encoding = query.encoding
    maximumBytes = query.maximumBytes
    hasEXIF = query.hasEXIF
  }
}
