// What a snapshot's URL says: which frame, how it is seen, as what it is sent.
internal import GLPreview

/// What goes around a snapshot's bytes.
enum SnapshotEncoding: String, CaseIterable, Sendable, Hashable {
  /// Nothing.
  case binary
  /// Base64, as text.
  case base64
  /// `data:image/jpeg;base64,...`, as text.
  case dataurl

  /// How many bytes of a picture come to no more than `count` bytes around it.
  func room(in count: Int, _ format: EncodedFormat) -> Int {
    switch self {
    case .binary: count
    case .base64: count / 4 * 3
    case .dataurl: max(count - SnapshotEncoding.prefix(format).utf8.count, 0) / 4 * 3
    }
  }

  /// Of a data URL.
  static func prefix(_ format: EncodedFormat) -> String { "data:\(format.mediaType);base64," }
}

extension EncodedFormat {
  /// As `Content-Type` has it.
  var mediaType: String { self == .png ? "image/png" : "image/jpeg" }

  /// What is drawn for it.
  var pictures: PictureFormat { self == .png ? .rgba : .ycbcr(.yuv420) }
}

/// A snapshot as it is asked for.
struct SnapshotQuery: Sendable, Hashable {
  /// How it is seen, and how good it is.
  var served: ServedView
  var format = EncodedFormat.jpeg
  var encoding = SnapshotEncoding.binary
  /// The most bytes of what is sent; nil is no limit.
  var maximumBytes: Int?
  /// How old the frame may be; zero wants one that is captured after the request.
  var maximumAge = Duration.seconds(1)
  /// How long it may take.
  var timeout: Duration
  var offline = OfflinePolicy.placeholder
  /// Whether a JPEG tells when it was taken.
  var hasEXIF = true
  /// Whether browsers are to keep it as a file.
  var isDownload = false

  /// What a URL may say.
  static let keys =
    ViewConfiguration.keys + [
      "quality", "max_bytes", "encoding", "max_age", "timeout", "offline", "exif", "download",
    ]

  /// What a URL says; `timeout` holds where it says no other.
  init(
    _ words: QueryWords, of served: ServedView, as format: EncodedFormat, offline: OfflinePolicy,
    timeout: Duration
  ) throws(Problem) {
    var words = words
    self.timeout = timeout
    self.served = try words.takeView(over: served)
    self.format = format
    encoding = try words.takeWord("encoding", as: SnapshotEncoding.self) ?? .binary
    maximumBytes = try words.takeInteger(["max_bytes"], in: 1...1_000_000_000)
    if let age = try words.takeInteger(["max_age"], in: 0...86_400_000) { maximumAge = .milliseconds(age) }
    if let timeout = try words.takeInteger(["timeout"], in: 1...60_000) {
      self.timeout = .milliseconds(timeout)
    }
    self.offline = try words.takeWord("offline", as: OfflinePolicy.self) ?? offline
    hasEXIF = try words.takeFlag("exif") ?? true
    isDownload = try words.takeFlag("download") ?? false
    try words.finish(known: Self.keys)
    if format == .png, maximumBytes != nil {
      throw .badParameter("max_bytes", "a PNG has no quality to lower; ask for .jpg")
    }
  }

  /// The session's words for the same.
  var request: SnapshotRequest {
    let mode: SnapshotMode = maximumAge == .zero ? .next : .newest(maxAge: maximumAge)
    var request = SnapshotRequest(mode, fallback: offline.fallback, timeout: timeout)
    request.isCropped = served.view.crop != nil
    return request
  }
}
