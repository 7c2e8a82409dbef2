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

  func add(to group: RouterGroup<ServiceContext>) {
    group.post("api/cameras/:camera/snapshots") { request, context in
      do {
        let (response, snapshot) = try await capture(request, context)
        metrics.count(.snapshot(snapshot.sourceState == .live ? .taken : .placeholder))
        return response
      } catch {
        metrics.count(.snapshot(.failed))
        throw error
      }
    }
  }

  private func capture(_ request: Request, _ context: ServiceContext) async throws -> (Response, Snapshot) {
    let camera = try context.parameters.require("camera")
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let options = try SnapshotOptions(
      json: Array(body.readableBytesView), timeout: registry.patience.snapshot)
    let permit = try gate.enter()
    defer { _ = consume permit }
    let (views, snapshot) = try await registry.consistently {
      let views = try wanted(options, of: camera)
      return (views, try await take(views, options, of: camera, context))
    }
    var pictures: [CapturedPicture] = []
    for (picture, view) in zip(snapshot.pictures, views) {
      pictures.append((view.name, try await encoded(picture, view.served, options)))
    }
    // Only publish snapshots that can also be answered.
    events.took(snapshot)
    let isMultipart = request.headers[.accept]?.contains("multipart/mixed") == true
    let response =
      try isMultipart
      ? multipart(snapshot, pictures, on: context.channel) : Response(json: CaptureAnswer(snapshot, pictures))
    return (response, snapshot)
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

  private func take(
    _ views: [ServedPreview], _ options: SnapshotOptions, of camera: String, _ context: ServiceContext
  ) async throws -> Snapshot {
    guard !views.isEmpty else { throw Problem(.conflict, "'\(camera)' has no view that is switched on") }
    var request = options.request(offline: views[0].offline)
    request.timeout = context.rest(of: request.timeout)
    request.isCropped = views.contains(where: \.served.view.isCropped)
    if views[0].isScene {
      let picture = try await views[0].preview.drawScene(within: request.timeout)
      return Snapshot(
        camera: camera, sequence: picture.sequence, timestamp: picture.timestamp,
        pictures: [picture.named(views[0].name)])
    }
    let moment = try await snapshots.moment(of: views[0], request)
    let pictures = try await moment.draw(views.map(\.preview))
    return Snapshot(
      camera: camera, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
      sourceState: moment.sourceState, pictures: zip(views, pictures).map { $1.named($0.name) })
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

  /// A multipart answer (RFC 2046) with one part per view.
  private func multipart(_ snapshot: Snapshot, _ pictures: [CapturedPicture], on channel: any Channel) throws
    -> Response
  {
    var body = ByteBuffer()
    // The buffer doubles as it grows.
    let lease = try registry.budget.reserve(2 * pictures.map(\.jpeg.bytes.count).reduce(0, +))
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
    body.writeString("--\(StreamPart.boundary)--\r\n")
    return Response(
      status: .ok,
      headers: [.contentType: "multipart/mixed; boundary=\(StreamPart.boundary)", .cacheControl: "no-store"],
      body: ResponseBody(body, holding: lease, on: channel))
  }
}

/// The options in a POST; an empty body means the defaults.
struct SnapshotOptions: Sendable {
  /// View names; nil for all enabled views.
  var views: [String]?
  /// The JPEG quality; nil for the view's own.
  var quality: Int?
  /// The size limit of each JPEG, in bytes.
  var maximumBytes: Int?
  /// What to return if the camera delivers nothing; nil for the camera's own policy.
  var offline: SnapshotRequest.FallbackPolicy?
  private var request = SnapshotRequest()

  /// The session's request for it; `offline` is the camera's policy.
  func request(offline: SnapshotRequest.FallbackPolicy) -> SnapshotRequest {
    var request = request
    request.fallback = self.offline ?? offline
    return request
  }

  private struct Body: Decodable {
    var views: [String]?
    var quality: Int?
    var maximumBytes: Int?
    var maximumAge: Int?
    var timeout: Int?
    var still: Bool?
    var settle: Int?
    var offline: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
      case views, quality
      case maximumBytes = "max_bytes"
      case maximumAge = "max_age"
      case timeout, still, settle, offline
    }
  }

  /// Parses a body; `timeout` is the default.
  ///
  /// - Throws: `Problem` 400 that names the error; `WordError`.
  init(json: [UInt8], timeout: Duration) throws {
    request.timeout = timeout
    guard !json.isEmpty else { return }
    let body: Body
    do {
      let keys = try JSONDecoder().decode([String: AnyValue].self, from: Data(json)).keys
      let known = Body.CodingKeys.allCases.map(\.rawValue)
      if let unknown = keys.sorted().first(where: { !known.contains($0) }) {
        throw Problem.badParameter(
          unknown, "unknown key '\(unknown)' (there are: \(known.joined(separator: ", ")))")
      }
      body = try JSONDecoder().decode(Body.self, from: Data(json))
    } catch let error as DecodingError {
      throw Problem(.badRequest, "the body can't be read: \(error.place)")
    }
    views = body.views
    quality = try Self.checked("quality", body.quality, 1...100)
    maximumBytes = try Self.checked("max_bytes", body.maximumBytes, 1...1_000_000_000)
    let age = try Self.checked("max_age", body.maximumAge, 0...86_400_000)
    let timeout = try Self.checked("timeout", body.timeout, 1...60_000)
    let settle = try Self.checked("settle", body.settle, 0...100)
    if let word = body.offline {
      offline = try Words.word("offline", word, as: SnapshotRequest.FallbackPolicy.self)
    }
    request.timeout = timeout.map { .milliseconds($0) } ?? request.timeout
    request.mode =
      switch (body.still ?? false, age) {
      case (true, _): .still(settling: settle ?? 2)
      case (false, 0): .next
      case (false, let age): .newest(maxAge: age.map { .milliseconds($0) } ?? .seconds(1))
      }
  }

  private static func checked(_ key: String, _ number: Int?, _ range: ClosedRange<Int>) throws(Problem)
    -> Int?
  {
    guard let number, !range.contains(number) else { return number }
    throw .badParameter(key, "\(number) is not from \(range.lowerBound) to \(range.upperBound)")
  }
}

/// A JSON value of any type.
private struct AnyValue: Decodable {
  init(from decoder: any Decoder) throws {}
}

extension DecodingError {
  /// The place of a decoding error, and its kind, in a few words.
  fileprivate var place: String {
    let context: Context? =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let path = context?.codingPath.map(\.stringValue).joined(separator: ".") ?? ""
    return path.isEmpty ? "it is not a JSON object" : "'\(path)' has the wrong type"
  }
}

/// A picture of the answer, by the name of its view.
private typealias CapturedPicture = (view: String, jpeg: EncodedPicture)

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
