// `/recordings/{camera}.mp4`: the recorded pictures of a span as one file.
internal import HTTPTypes
internal import Hummingbird

struct RecordedSpanRoutes: Sendable {
  private let rights: RecordingRights
  /// Nil if nothing is recorded.
  private let spans: RecordedSpans?
  /// Limits the files that are being sent: each holds a descriptor.
  private let readers = AdmissionLimit(
    capacity: 16, sharing: .ofFreePlaces, subject: "recorded spans being sent")

  /// `folder` is nil if nothing is recorded.
  init(rights: RecordingRights, folder: RecordingFolder?) {
    self.rights = rights
    spans = folder.map { RecordedSpans($0, within: rights.registry.budget) }
  }

  private static let froms = QueryKey<TimePoint>.timePoint(
    "from",
    "the begin: seconds since 1970, RFC 3339, or a time before now such as `-10m`; the file begins with the newest picture then"
  ).required
  private static let tos = QueryKey<TimePoint>.timePoint(
    "to",
    "the end, at most 7 days after `from`: the file ends with the last picture before it; by default now"
  )
  private static let views = QueryKey<String>.text(
    "view", "the recorded view; by default the one that the camera's `record` names")
  private static let download = QueryKey<Bool>.flag("download", "whether browsers save the answer as a file")
  private static let query = [QueryEntry].of(froms, tos, views, download)

  /// The longest span.
  private static let longest = Duration.seconds(7 * 86_400)

  /// The documentation, for the route of `/recordings/{folder}`.
  static let entry = RouteEntry(
    "getRecordedSpan", "Returns the recorded pictures of a span as one file, or a range of it",
    at: "recordings/{folder}.mp4", query: query,
    answers: [
      .bytes(
        "video/mp4",
        purpose:
          "the file; `X-Timestamp` is the time of its first picture, and `X-Gaps` how many times without a picture were cut out"
      ),
      .init(.partialContent, "the requested range", ["video/mp4": .keywords([:])]), .notModified,
    ],
    problems: [.conflict, .rangeNotSatisfiable, .internalServerError, .badGateway, .gatewayTimeout])

  /// The parameters of a request.
  private struct Wanted: Sendable {
    let from, to: WallTime
    let view: String?
    let isDownload: Bool
  }

  /// Answers a request for a span of a camera's recordings.
  ///
  /// - Throws: `Problem`: 400 for bad times and spans that are too large, 403 for recordings that need the
  ///   role `control`, 404 if nothing was recorded then, 409 if the size of the pictures changes, 416 for a
  ///   range outside the file, 429 and 503 if too many are requested.
  func file(camera: String, _ request: Request, _ context: ServiceContext) async throws -> Response {
    let wanted = try Self.span(of: request)
    let pictures = RecordedRequest(
      camera: camera, view: wanted.view, kind: .span, from: wanted.from, to: wanted.to)
    return try await rights.answer(request, context, for: pictures) {
      // Another node asks whether it is here.
      if request.method == .head, request.isFromPeer, isRecorded(wanted, of: camera) {
        return Response(status: .ok)
      }
      let found = try await context.whileClientStays { try await span(wanted, of: camera) }
      guard let spans, let span = found else { return nil }
      return try answer(to: request, span, of: spans, isDownload: wanted.isDownload, context)
    }
  }

  /// Whether a recording of the span is known.
  private func isRecorded(_ wanted: Wanted, of camera: String) -> Bool {
    let known = rights.folder?.recordings(of: camera, from: wanted.from, to: wanted.to, limit: .max) ?? []
    return known.contains { wanted.view == nil || $0.view == wanted.view }
  }

  private static func span(of request: Request) throws -> Wanted {
    var query = try QueryParameters(request)
    let now = WallTime.now
    let from = try query.take(froms).map { time($0, now) }
    let to = try query.take(tos).map { time($0, now) } ?? now
    let view = try query.take(views)
    let isDownload = try query.take(download) ?? false
    try query.finish(known: Self.query)
    guard let from else {
      throw Problem.badParameter("from", "'from' is missing: the begin of the span, such as from=-10m")
    }
    guard from < to else { throw Problem.badParameter("from", "'from' (\(from)) is not before 'to' (\(to))") }
    guard to.sinceEpoch - from.sinceEpoch <= longest else {
      throw Problem.badParameter("from", "from \(from) to \(to) is longer than 7 days: request several files")
    }
    return Wanted(from: from, to: to, view: view, isDownload: isDownload)
  }

  /// Returns a time, from 1970 on.
  private static func time(_ point: TimePoint, _ now: WallTime) -> WallTime {
    max(point.time(before: now), WallTime(sinceEpoch: .zero))
  }

  private func span(_ wanted: Wanted, of camera: String) async throws -> RecordedSpan? {
    let configuration = rights.registry.served[camera: camera]?.configuration
    let preferred = configuration?.record.view ?? configuration?.views.first?.view.name
    return try await spans?.span(
      of: camera, view: wanted.view, preferring: preferred, from: wanted.from, to: wanted.to)
  }

  private func answer(
    to request: Request, _ span: RecordedSpan, of spans: RecordedSpans, isDownload: Bool,
    _ context: ServiceContext
  ) throws -> Response {
    try requireRight(to: span, context)
    var headers: HTTPFields = [.contentType: "video/mp4"]
    headers[named: "X-Timestamp"] = span.start.secondsText
    headers[named: "X-Gaps"] = "\(span.gaps)"
    if isDownload, let recording = span.parts.first?.recording {
      let name = StampedFileName(
        camera: recording.camera, view: recording.view, time: span.start, .recording)
      headers[.contentDisposition] = "attachment; filename=\"\(name.camera)-\(name.file)\""
    }
    let reader = spans.reader(of: span)
    return try FileAnswer(
      "the recording", byteCount: span.byteCount, entityTag: span.entityTag, headers: headers,
      while: { [rights] in
        // Its view may be switched off, locked or masked meanwhile, and the client's role lowered.
        reader.recording.map { rights.isShown($0, to: .read) || context.holds(.control) } ?? true
      }, read: { await reader.read($0, $1) }
    ).response(to: request, context, by: readers, within: rights.registry.budget)
  }

  /// Requires the role that all recordings of a span need.
  ///
  /// - Throws: `Problem` 403, which says for which times the role `control` is required.
  private func requireRight(to span: RecordedSpan, _ context: ServiceContext) throws(Problem) {
    let isShown = span.parts.map { rights.isShown($0.recording, to: .read) }
    guard let first = isShown.firstIndex(of: false) else { return }
    guard context.role?.includes(.control) != true, isShown.contains(true) else {
      return try context.require(.control)
    }
    let end = isShown[first...].firstIndex(of: true).map { " to \(span.parts[$0].start)" } ?? " on"
    throw Problem(
      .forbidden,
      "recordings from \(span.parts[first].start)\(end) show what is hidden now, and need the role 'control'")
  }
}
