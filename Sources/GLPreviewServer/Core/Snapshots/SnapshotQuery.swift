// The parameters of a snapshot's URL: the frame, the view and the encoding.

/// The encoding of a snapshot's bytes.
enum SnapshotEncoding: String, CaseIterable, Sendable, Hashable {
  /// The bytes themselves.
  case binary
  /// Base64, as text.
  case base64
  /// `data:image/jpeg;base64,...`, as text.
  case dataurl

  /// Returns the most bytes of a picture whose encoding has at most `count` bytes.
  func room(in count: Int, _ format: EncodedPicture.Format) -> Int {
    switch self {
    case .binary: count
    case .base64: count / 4 * 3
    case .dataurl: max(count - SnapshotEncoding.prefix(format).utf8.count, 0) / 4 * 3
    }
  }

  /// Returns the prefix of a data URL.
  static func prefix(_ format: EncodedPicture.Format) -> String { "data:\(format.mediaType);base64," }
}

extension EncodedPicture.Format {
  /// The value of `Content-Type`.
  var mediaType: String { self == .png ? "image/png" : "image/jpeg" }

  /// The sample format of the picture to encode.
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
  /// The JPEG that becomes of the picture, for a renderer that codes pictures.
  var coding: PictureCoding? {
    guard format == .jpeg else { return nil }
    return PictureCoding(
      quality: served.encodedQuality, maximumBytes: maximumBytes.map { encoding.room(in: $0, format) })
  }
  /// Whether browsers should save it as a file.
  let isDownload: Bool
  /// The frame, the fallback and the timeout. `max_age=0` requires a frame captured after the request.
  var request: SnapshotRequest

  private static let encodings = QueryKey<SnapshotEncoding>.choice(
    "encoding", usual: .binary, "the form of the picture: its bytes, base64, or a `data:` URL")
  private static let maximumBytesKey = QueryKey<Int>.integer(
    "max_bytes", in: 1...1_000_000_000,
    "the maximum size of the answer in bytes: the best quality that fits, below quality 30 a smaller picture; not for PNG"
  )
  private static let maximumAge = QueryKey<Int>.integer(
    "max_age", in: 0...86_400_000,
    "the maximum age of the frame in ms; 0 means a frame that is captured after the request")
  static let moments = QueryKey<SnapshotMoment>(
    "at", .text,
    "the capture time, for a camera with `replay`: a time before now, such as `-2s`, or seconds since 1970"
  ) { name, text throws(ParameterError) in try SnapshotMoment(parsing: text, key: name) }
  private static let best = QueryKey<SnapshotBest>.choice(
    "best", "selects the best frame of the time `within`, instead of the frame at `at`")
  private static let within = QueryKey<String>.text(
    "within", "the time before `at` from which `best` selects, such as `500ms`; 2s by default")
  private static let timeouts = QueryKey<Int>.integer(
    "timeout", in: 1...60_000, "the maximum wait for a frame in ms")
  private static let offline = QueryKey<SnapshotRequest.FallbackPolicy>.choice(
    "offline",
    "the answer while the camera delivers no frames: its placeholder, its last frame or an error; by default as configured"
  )
  private static let warmups = QueryKey<Warmup>(
    "warmup", .text,
    "what to discard after an idle camera opens: a number of frames, or a time such as `0.5s`"
  ) { name, text throws(ParameterError) in
    do throws(ParameterError) { return try Warmup(parsing: text) } catch {
      throw ParameterError(name, error.reason)
    }
  }
  private static let exif = QueryKey<Bool>.flag(
    "exif", usual: true,
    "whether a JPEG contains its capture time; for `1`, a camera's own JPEG is encoded again")
  static let download = QueryKey<Bool>.flag("download", "whether browsers save the answer as a file")

  /// The parameters of a snapshot's URL.
  static let query =
    QueryEntry.view
    + .of(
      QueryEntry.quality, maximumBytesKey, encodings, moments, best, within, maximumAge, timeouts, offline,
      exif,
      download, warmups)

  /// The parameters of a picture of a frame that is chosen in another way.
  static let stillQuery =
    QueryEntry.view + .of(QueryEntry.quality, maximumBytesKey, encodings, timeouts, exif, download)

  /// Parses the parameters that are left after those that choose the frame. `timeout` is the default, and
  /// `known` has all parameters of the URL.
  init(
    still query: QueryParameters, of served: ServedView, as format: EncodedPicture.Format, timeout: Duration,
    known: [QueryEntry]
  ) throws {
    var query = query
    self.served = try query.takeView(over: served)
    self.format = format
    encoding = try query.take(Self.encodings) ?? .binary
    maximumBytes = try query.take(Self.maximumBytesKey)
    request = SnapshotRequest(fallback: .error, timeout: timeout)
    if let timeout = try query.take(Self.timeouts) { request.timeout = .milliseconds(timeout) }
    hasEXIF = try query.take(Self.exif) ?? true
    isDownload = try query.take(Self.download) ?? false
    try query.finish(known: known)
    try checkSize()
  }

  private func checkSize() throws(Problem) {
    if format == .png, maximumBytes != nil {
      throw .badParameter("max_bytes", "max_bytes is not for PNG: use .jpg")
    }
  }

  /// Parses a URL; `offline` and `timeout` are the defaults, and `delay` is the camera's `trigger-delay`.
  init(
    _ query: QueryParameters, of served: ServedView, as format: EncodedPicture.Format,
    offline: SnapshotRequest.FallbackPolicy,
    timeout: Duration, delay: Duration = .zero
  ) throws {
    var query = query
    self.served = try query.takeView(over: served)
    self.format = format
    encoding = try query.take(Self.encodings) ?? .binary
    maximumBytes = try query.take(Self.maximumBytesKey)
    request = SnapshotRequest(fallback: offline, timeout: timeout)
    if let age = try query.take(Self.maximumAge) {
      request.mode = age == 0 ? .next : .newest(maxAge: .milliseconds(age))
    }
    let at = try query.take(Self.moments)
    let span = try SnapshotMoment.span(query.take(Self.best), within: query.take(Self.within))
    if at != nil || span != nil {
      guard request.mode == .newest else {
        throw Problem.badParameter("at", "max_age can't be combined with at or best")
      }
      let now = CaptureClock.now
      let end = at?.instant(at: now, delay: delay) ?? now
      request.mode = span.map { .sharpest(end - $0...end) } ?? .at(end)
    }
    if let timeout = try query.take(Self.timeouts) {
      request.timeout = .milliseconds(timeout)
    }
    if let offline = try query.take(Self.offline) {
      request.fallback = offline
    }
    if let warmup = try query.take(Self.warmups) { request.warmup = warmup }
    request.isCropped = self.served.view.isCropped
    let exif = try query.take(Self.exif)
    hasEXIF = exif ?? true
    isDownload = try query.take(Self.download) ?? false
    try query.finish(known: Self.query)
    // The camera's original JPEG is passed through unless a parameter concerns the encoding.
    request.passes =
      format == .jpeg && self.served.quality == nil && self.served.view.isWhole && maximumBytes == nil
      && exif != true
    try checkSize()
  }
}
