// The parameters of a snapshot's URL: the frame, the view and the encoding.

/// The encoding of a snapshot's bytes.
enum SnapshotEncoding: String, CaseIterable, Sendable, Hashable {
  /// As they are.
  case binary
  /// Base64, as text.
  case base64
  /// `data:image/jpeg;base64,...`, as text.
  case dataurl

  /// The most bytes of a picture whose encoding has at most `count` bytes.
  func room(in count: Int, _ format: EncodedPicture.Format) -> Int {
    switch self {
    case .binary: count
    case .base64: count / 4 * 3
    case .dataurl: max(count - SnapshotEncoding.prefix(format).utf8.count, 0) / 4 * 3
    }
  }

  /// The prefix of a data URL.
  static func prefix(_ format: EncodedPicture.Format) -> String { "data:\(format.mediaType);base64," }
}

extension EncodedPicture.Format {
  /// The value of `Content-Type`.
  var mediaType: String { self == .png ? "image/png" : "image/jpeg" }

  /// The sample format to draw for it.
  var pictures: Picture.Format { self == .png ? .rgba : .ycbcr(.yuv420) }
}

/// A requested snapshot.
struct SnapshotQuery: Sendable, Hashable {
  /// The view and the JPEG quality.
  let served: ServedView
  let format: EncodedPicture.Format
  let encoding: SnapshotEncoding
  /// The size limit of the answer, in bytes; nil for no limit.
  let maximumBytes: Int?
  /// Whether a JPEG contains its capture time.
  let hasEXIF: Bool
  /// Whether browsers should save it as a file.
  let isDownload: Bool
  /// Which frame, the fallback and the time limit. `max_age=0` requires a frame captured after the request.
  var request: SnapshotRequest

  /// The parameters of a URL.
  static let keys =
    ViewConfiguration.keys + [
      "quality", "max_bytes", "encoding", "at", "best", "within", "max_age", "timeout", "offline", "exif",
      "download", "warmup",
    ]

  /// Parses a URL; `offline` and `timeout` are the defaults, and `delay` is the camera's `trigger-delay`.
  init(
    _ words: QueryWords, of served: ServedView, as format: EncodedPicture.Format,
    offline: SnapshotRequest.FallbackPolicy,
    timeout: Duration, delay: Duration = .zero
  ) throws {
    var words = words
    self.served = try words.takeView(over: served)
    self.format = format
    encoding = try words.takeWord("encoding", as: SnapshotEncoding.self) ?? .binary
    maximumBytes = try words.takeInteger("max_bytes", in: 1...1_000_000_000)
    request = SnapshotRequest(fallback: offline, timeout: timeout)
    if let age = try words.takeInteger("max_age", in: 0...86_400_000) {
      request.mode = age == 0 ? .next : .newest(maxAge: .milliseconds(age))
    }
    let at = try words.take("at").map { try SnapshotMoment(parsing: $0, key: "at") }
    let span = try SnapshotMoment.span(
      words.takeWord("best", as: SnapshotBest.self), within: words.take("within"))
    if at != nil || span != nil {
      guard request.mode == .newest else {
        throw Problem.badParameter("at", "max_age contradicts at and best")
      }
      let now = CaptureClock.now
      let end = at?.instant(at: now, delay: delay) ?? now
      request.mode = span.map { .sharpest(end - $0...end) } ?? .at(end)
    }
    if let timeout = try words.takeInteger("timeout", in: 1...60_000) {
      request.timeout = .milliseconds(timeout)
    }
    if let offline = try words.takeWord("offline", as: SnapshotRequest.FallbackPolicy.self) {
      request.fallback = offline
    }
    if let text = words.take("warmup") {
      do throws(WordError) { request.warmup = try Warmup(parsing: text) } catch {
        throw Problem.badParameter("warmup", error.reason)
      }
    }
    request.isCropped = self.served.view.isCropped
    let exif = try words.takeFlag("exif")
    hasEXIF = exif ?? true
    isDownload = try words.takeFlag("download") ?? false
    try words.finish(known: Self.keys)
    if format == .png, maximumBytes != nil {
      throw Problem.badParameter("max_bytes", "a PNG has no quality to lower; ask for .jpg")
    }
    // The camera's own JPEG will do unless something is asked of the encoding.
    request.passes =
      format == .jpeg && self.served.quality == nil && self.served.view.isWhole && maximumBytes == nil
      && exif != true
  }
}
