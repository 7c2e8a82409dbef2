// `POST /api/cameras/{camera}/snapshots`: a snapshot of several views of one frame, for the client and all
// subscribers.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Snapshots that are also published as events.
struct CaptureRoutes: Sendable {
  let registry: CameraRegistry
  let snapshots: Snapshots

  func add(to group: ServiceRoutes) {
    group.post(
      "api/cameras/:camera/snapshots",
      as: [
        .init(
          "takeSnapshots", "Takes a snapshot of each view from the same frame, and publishes the snapshots",
          body: .json(SnapshotOptions.schema, isRequired: false),
          answers: [
            .init(
              .ok, "the pictures, in base64 or as parts by `Accept: multipart/mixed`",
              [
                "application/json": .either(CaptureAnswer.schema, BurstAnswer.schema),
                "multipart/mixed": .keywords([:]),
              ])
          ])
      ]
    ) { request, context in
      try await snapshots.counting { try await capture(request, context) }
    }
  }

  private func capture(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try context.parameters.require("camera")
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let options = try SnapshotOptions(
      json: Array(body.readableBytesView), timeout: registry.timeouts.snapshot)
    let take = { @Sendable [snapshots] in
      try await snapshots.take(options, of: camera, since: context.startedAt) { taken in
        try await Self.encoded(taken, options)
      }
    }
    // Decoding buffered H.264 may take long: the work ends if the client disconnects, unless a folder, a
    // webhook or MQTT gets the snapshots too.
    let taken =
      try await options.asksForBuffered && !snapshots.areSent ? context.whileClientStays(take) : take()
    let isMultipart = request.headers[.accept]?.contains("multipart/mixed") == true
    return try isMultipart
      ? multipart(taken, on: context.channel) : json(taken, isBurst: options.isBurst)
  }

  private static func encoded(
    _ taken: TakenSnapshot, _ options: SnapshotOptions
  ) async throws -> CapturedSnapshot {
    var pictures: [CapturedPicture] = []
    for (picture, view) in zip(taken.snapshot.pictures, taken.views) {
      do {
        let jpeg = try await picture.jpeg(
          quality: options.quality ?? view.served.encodedQuality, maxBytes: options.maximumBytes)
        pictures.append((view.name, jpeg))
      } catch let error as PictureEncoder.Failure {
        throw Problem.badParameter("max_bytes", error.description)
      }
    }
    return (taken.snapshot, pictures)
  }

  private func json(_ snapshots: [CapturedSnapshot], isBurst: Bool) throws -> Response {
    let answers = snapshots.map { CaptureAnswer($0.snapshot, $0.pictures) }
    guard !isBurst, let first = answers.first else {
      return try Response(json: BurstAnswer(snapshots: answers))
    }
    return try Response(json: first)
  }

  // MARK: Multipart answers

  /// Returns a multipart answer (RFC 2046) with one part for each view of each snapshot.
  private func multipart(_ snapshots: [CapturedSnapshot], on channel: (any Channel)?) throws -> Response {
    var body = ByteBuffer()
    // The buffer doubles its capacity as it grows.
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

/// A picture in the answer, with the name of its view.
private typealias CapturedPicture = (view: String, jpeg: EncodedPicture)

private typealias CapturedSnapshot = (snapshot: Snapshot, pictures: [CapturedPicture])

/// Several snapshots, oldest first.
private struct BurstAnswer: Encodable {
  let snapshots: [CaptureAnswer]

  static let schema = JSONSchema.object([.init("snapshots", .list(of: CaptureAnswer.schema))])
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

  static let schema = JSONSchema.named(
    "Snapshot",
    .object([
      .init("camera", .text), .init("sequence", .integer), .init("timestamp", .time), .init("state", .text),
      .init(
        "pictures",
        .list(
          of: .object([
            .init("view", .text), .init("width", .integer), .init("height", .integer),
            .init("bytes", .integer),
            .init("snapshot", .text, "the JPEG in base64"),
          ]))),
    ]))

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
