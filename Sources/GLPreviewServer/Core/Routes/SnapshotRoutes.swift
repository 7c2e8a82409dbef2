// The files of a view: `/cameras/{camera}/{view}` with an extension. `.jpg` and `.png` are snapshots, whose
// header fields describe the applied settings.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Snapshots by GET.
struct SnapshotRoutes: Sendable {
  let registry: CameraRegistry
  let snapshots: Snapshots
  let streams: StreamRoutes
  let videos: VideoRoutes

  func add(to group: ServiceRoutes) {
    group.get("cameras/:camera/:file", .pictures, as: Self.entries) { request, context in
      let camera = try context.parameters.require("camera")
      let file = try context.parameters.require("file")
      guard let dot = file.lastIndex(of: ".") else {
        throw Problem.notFound("'\(file)' has no extension; use .mp4, .mjpeg, .jpg, .png or .webp")
      }
      let target = try registry.view(String(file[..<dot]), of: camera)
      switch file[dot...].lowercased() {
      case ".mjpeg", ".mjpg": return try await streams.stream(target, request, context)
      case ".mp4": return try await videos.mp4(target, request, context)
      case ".webp": return try await videos.webP(target, request, context)
      case ".jpg", ".jpeg": return try await snapshot(target, .jpeg, request, context)
      case ".png": return try await snapshot(target, .png, request, context)
      default: throw Problem.notFound("'\(file)' does not end in .mp4, .mjpeg, .jpg, .png or .webp")
      }
    }
  }

  private static let path = "cameras/:camera/{view}"

  private static let entries: [RouteEntry] = [
    .init(
      "getJPEG", "Returns a snapshot of a view as JPEG", at: path + ".jpg", query: SnapshotQuery.query,
      answers: [jpeg, .notModified], problems: [.notImplemented]),
    .init(
      "getPNG", "Returns a snapshot of a view as PNG", at: path + ".png", query: SnapshotQuery.query,
      answers: [
        .bytes("image/png", "text/plain", purpose: "the picture, or its text (`encoding`)"), .notModified,
      ], problems: [.notImplemented]),
    .init(
      "streamMJPEG", "Streams a view as MJPEG", at: path + ".mjpeg", query: StreamRoutes.query,
      answers: [StreamRoutes.parts]),
    .init(
      "getMP4", "Streams a view as H.264, or with `before` or `after` returns a clip from the replay buffer",
      at: path + ".mp4",
      query: VideoRoutes.fileAndClipQuery,
      answers: [.bytes("video/mp4", purpose: "fragmented MP4 as it is encoded, or a complete file")],
      problems: [.notImplemented]),
    .init(
      "getWebP", "Returns a clip from the replay buffer as an animation", at: path + ".webp",
      query: VideoRoutes.webPQuery,
      answers: [.bytes("image/webp", purpose: "the animation")], problems: [.notImplemented]),
  ]

  static let jpeg = RouteAnswer.bytes(
    "image/jpeg", "text/plain",
    purpose:
      "the picture, or its text (`encoding`); header fields such as `X-Timestamp` and `X-Source-State` describe it"
  )

  func snapshot(
    _ target: ServedPreview, _ format: EncodedPicture.Format, _ request: Request, _ context: ServiceContext
  ) async throws -> Response {
    try await snapshots.counting {
      let (query, headers) = (try query(target, format, request, context), request.headers)
      let take = { @Sendable [snapshots] in
        try await snapshots.picture(of: target, query) { headers.hasCached($0) }
      }
      // Decoding buffered H.264 may take long.
      let (subject, answer) =
        try await query.request.mode.isBuffered ? context.whileClientStays(take) : take()
      guard let answer else { return Response(status: .notModified, headers: fields(subject)) }
      return response(subject, answer, query, on: context.channel)
    }
  }

  private func query(
    _ target: ServedPreview, _ format: EncodedPicture.Format, _ request: Request, _ context: ServiceContext
  ) throws -> SnapshotQuery {
    guard target.served.isEnabled else { throw Problem.switchedOff(target) }
    var base = target.served
    // A scene shows several cameras, so it accepts no view parameters.
    if target.isScene { base.isLocked = true }
    var query = try SnapshotQuery(
      QueryParameters(request), of: base, as: format, offline: target.offline,
      timeout: registry.timeouts.snapshot,
      delay: target.triggerDelay)
    query.request.timeout = context.rest(of: query.request.timeout)
    return query
  }

  // MARK: Answers

  private func response(
    _ subject: SnapshotSubject, _ answer: SnapshotAnswer, _ query: SnapshotQuery, on channel: (any Channel)?
  ) -> Response {
    var headers = fields(subject)
    headers[.contentType] = answer.mediaType
    let view = query.served.view
    headers[named: "X-View-Size"] = "\(answer.size)"
    let whole = subject.sourceSize.map { Rectangle(x: 0, y: 0, width: $0.width, height: $0.height) }
    if let crop = view.crop ?? (view.isWarped ? nil : whole) { headers[named: "X-View-Crop"] = "\(crop)" }
    headers[named: "X-View-Rotate"] = view.degrees.shortText
    headers[named: "X-View-Mirror"] = view.mirroring.rawValue
    if let quality = answer.quality { headers[named: "X-View-Quality"] = "\(quality)" }
    headers[named: "X-UStreamer-Online"] = subject.state == .live ? "true" : "false"
    headers[named: "X-UStreamer-Width"] = "\(answer.size.width)"
    headers[named: "X-UStreamer-Height"] = "\(answer.size.height)"
    if query.isDownload {
      let name = "\(subject.camera)-\(subject.time.description.replacing(":", with: "-"))"
      headers[.contentDisposition] =
        "attachment; filename=\"\(name).\(query.format == .png ? "png" : "jpg")\""
    }
    return Response(
      status: .ok, headers: headers, body: ResponseBody(answer.bytes, holding: answer.lease, on: channel))
  }

  private func fields(_ subject: SnapshotSubject) -> HTTPFields {
    let age = max(CaptureClock.now - subject.timestamp, .zero)
    var headers: HTTPFields = [
      .cacheControl: "private, no-cache", .eTag: subject.entityTag, .age: "\(age.components.seconds)",
    ]
    headers[named: "X-Timestamp"] = subject.time.secondsText
    headers[named: "X-Frame-Age-Ms"] = "\(Int(age / .milliseconds(1)))"
    headers[named: "X-Frame-Sequence"] = "\(subject.sequence)"
    headers[named: "X-Source-State"] = subject.state.rawValue
    return headers
  }
}
