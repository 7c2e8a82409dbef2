// `POST /api/cameras/{camera}/snapshots`: a snapshot of several views of one frame, for the client and all
// subscribers.
internal import FoundationEssentials
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Snapshots that are also published as events.
struct CaptureRoutes: Sendable {
  let registry: CameraRegistry
  let snapshots: SnapshotProvider
  let events: ServiceEvents
  /// Limits concurrent snapshots; further requests are rejected.
  let gate: AdmissionLimit
  let metrics: ServiceMetrics

  func add(to group: ServiceRoutes) {
    group.post("api/cameras/:camera/snapshots") { request, context in
      do {
        let (response, snapshots) = try await capture(request, context)
        for snapshot in snapshots {
          metrics.count(.snapshot(snapshot.sourceState == .live ? .taken : .placeholder))
        }
        return response
      } catch {
        metrics.count(.snapshot(.failed))
        throw error
      }
    }
  }

  private func capture(_ request: Request, _ context: ServiceContext) async throws -> (Response, [Snapshot]) {
    let camera = try context.parameters.require("camera")
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let options = try SnapshotOptions(
      json: Array(body.readableBytesView), timeout: registry.patience.snapshot)
    let permit = try gate.enter()
    defer { _ = consume permit }
    // Kept H.264 may take long to decode: a client that leaves ends the work, unless a folder, a webhook or MQTT gets the
    // snapshots too.
    let (snapshots, views) =
      try await options.asksForKept && !events.sendsSnapshots
      ? context.whileClientStays { try await captured(options, of: camera, context) }
      : captured(options, of: camera, context)
    let taken = snapshots.map(\.snapshot)
    // Only publish snapshots that can also be answered.
    try check(views)
    for snapshot in taken { events.took(snapshot, of: views) }
    let isMultipart = request.headers[.accept]?.contains("multipart/mixed") == true
    let response =
      try isMultipart
      ? multipart(snapshots, on: context.channel)
      : json(snapshots, isBurst: options.isBurst)
    return (response, taken)
  }

  /// Takes and encodes what a request asks for now; again, if that may not be shown any more when it is ready.
  private func captured(
    _ options: SnapshotOptions, of camera: String, _ context: ServiceContext
  ) async throws -> ([CapturedSnapshot], of: [ServedPreview]) {
    let now = CaptureClock.now
    return try await registry.consistently {
      let views = try wanted(options, of: camera)
      var snapshots: [CapturedSnapshot] = []
      for snapshot in try await take(views, options, of: camera, at: now, context) {
        var pictures: [CapturedPicture] = []
        for (picture, view) in zip(snapshot.pictures, views) {
          pictures.append((view.name, try await encoded(picture, view.served, options)))
        }
        snapshots.append((snapshot, pictures))
      }
      try check(views)
      return (snapshots, views)
    }
  }

  private func json(_ snapshots: [CapturedSnapshot], isBurst: Bool) throws -> Response {
    let answers = snapshots.map { CaptureAnswer($0.snapshot, $0.pictures) }
    guard !isBurst, let first = answers.first else {
      return try Response(json: BurstAnswer(snapshots: answers))
    }
    return try Response(json: first)
  }

  /// The requested views; by default all enabled ones.
  private func wanted(_ options: SnapshotOptions, of camera: String) throws(Problem) -> [ServedPreview] {
    let served = registry.served
    let views = try served.views(of: camera)
    guard let names = options.views else { return views.filter(\.served.isEnabled) }
    guard !names.isEmpty else { throw .badParameter("views", "name at least one view, or leave 'views' out") }
    var wanted: [ServedPreview] = []
    for name in names {
      let view = try served.view(name, of: camera)
      guard view.served.isEnabled else { throw .switchedOff(view) }
      guard !wanted.contains(where: { $0.name == name }) else {
        throw .badParameter("views", "'\(name)' is given twice")
      }
      wanted.append(view)
    }
    return wanted
  }

  /// Throws if one of the views may not be shown any more as it was when it was looked up.
  private func check(_ views: [ServedPreview]) throws(Problem) {
    let served = registry.served
    for view in views { try served.check(ViewRight(view, .drawn(view.served.view))) }
  }

  /// What was asked for at `now`: one snapshot, or those of a burst.
  private func take(
    _ views: [ServedPreview], _ options: SnapshotOptions, of camera: String, at now: CaptureInstant,
    _ context: ServiceContext
  ) async throws -> [Snapshot] {
    guard let first = views.first else {
      throw Problem(.conflict, "'\(camera)' has no view that is switched on")
    }
    var request = options.request(offline: first.offline)
    request.timeout = context.rest(of: request.timeout)
    request.isCropped = views.contains(where: \.served.view.isCropped)
    let kept = options.kept(at: now, delay: first.triggerDelay)
    if first.isScene {
      guard kept.isEmpty else { throw Problem.momentOfScene() }
      let picture = try await first.preview.drawScene(within: request.timeout)
      return [
        Snapshot(
          camera: camera, sequence: picture.sequence, timestamp: picture.timestamp,
          pictures: [picture.named(first.name)])
      ]
    }
    guard !kept.isEmpty else { return [try await take(views, request, of: camera)] }
    return try await kept.eachKept { mode in
      request.mode = mode
      return try await take(views, request, of: camera)
    }
  }

  private func take(_ views: [ServedPreview], _ request: SnapshotRequest, of camera: String) async throws
    -> Snapshot
  {
    try await snapshots.inTurn(request, of: views[0]) {
      let moment = try await snapshots.moment(of: views[0], request)
      try check(views)
      let pictures = try await moment.draw(views.map(\.preview))
      try check(views)
      return Snapshot(
        camera: camera, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
        sourceState: moment.sourceState, replay: moment.replay,
        pictures: zip(views, pictures).map { $1.named($0.name) })
    }
  }

  private func encoded(_ picture: RenderedPicture, _ served: ServedView, _ options: SnapshotOptions)
    async throws -> EncodedPicture
  {
    do {
      return try await picture.jpeg(
        quality: options.quality ?? served.encodedQuality, maxBytes: options.maximumBytes)
    } catch let error as PictureEncoder.Failure {
      throw Problem.badParameter("max_bytes", error.description)
    }
  }

  // MARK: As parts

  /// A multipart answer (RFC 2046) with one part for each view of each snapshot.
  private func multipart(_ snapshots: [CapturedSnapshot], on channel: (any Channel)?) throws -> Response {
    var body = ByteBuffer()
    // The buffer doubles as it grows.
    let bytes = snapshots.flatMap(\.pictures).map(\.jpeg.bytes.count).reduce(0, +)
    let lease = try registry.budget.reserve(2 * bytes)
    for (snapshot, pictures) in snapshots {
      for picture in pictures {
        body.writeString(
          "--\(StreamPart.boundary)\r\nContent-Type: image/jpeg\r\nContent-Length: \(picture.jpeg.bytes.count)\r\n"
            + "Content-Disposition: attachment; filename=\"\(snapshot.camera)-\(picture.view).jpg\"\r\n"
            + "X-View: \(picture.view)\r\nX-Timestamp: \(snapshot.time.secondsText)\r\n"
            + "X-Frame-Sequence: \(snapshot.sequence)\r\nX-Source-State: \(snapshot.sourceState.rawValue)\r\n\r\n"
        )
        body.writeBytes(picture.jpeg.bytes)
        body.writeString("\r\n")
      }
    }
    body.writeString("--\(StreamPart.boundary)--\r\n")
    return Response(
      status: .ok,
      headers: [.contentType: "multipart/mixed; boundary=\(StreamPart.boundary)", .cacheControl: "no-store"],
      body: ResponseBody(body, holding: lease, on: channel))
  }
}

/// A picture of the answer, by the name of its view.
private typealias CapturedPicture = (view: String, jpeg: EncodedPicture)

private typealias CapturedSnapshot = (snapshot: Snapshot, pictures: [CapturedPicture])

/// Several snapshots, the oldest first.
private struct BurstAnswer: Encodable {
  let snapshots: [CaptureAnswer]
}

private struct CaptureAnswer: Encodable {
  let camera: String
  let sequence: Int
  let timestamp: String
  let state: String
  let pictures: [Picture]

  struct Picture: Encodable {
    let view: String
    let width: Int
    let height: Int
    let bytes: Int
    let snapshot: String
  }

  init(_ snapshot: Snapshot, _ pictures: [CapturedPicture]) {
    camera = snapshot.camera
    sequence = snapshot.sequence
    timestamp = snapshot.time.description
    state = snapshot.sourceState.rawValue
    self.pictures = pictures.map {
      Picture(
        view: $0.view, width: $0.jpeg.size.width, height: $0.jpeg.size.height, bytes: $0.jpeg.bytes.count,
        snapshot: $0.jpeg.base64)
    }
  }
}
