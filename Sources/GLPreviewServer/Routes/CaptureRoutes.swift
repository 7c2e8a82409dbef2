// `POST /api/cameras/{camera}/snapshots`: all views of one frame, for whoever asks and for all who listen.
internal import FoundationEssentials
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Snapshots that everybody is told of.
struct CaptureRoutes: Sendable {
  let registry: CameraRegistry
  let snapshots: SnapshotDesk
  /// Takes that are under way at a time; more are sent away.
  let gate: AdHocGate
  /// Is given each snapshot.
  let publish: @Sendable (Snapshot) -> Void

  func add(to group: RouterGroup<ServiceContext>) {
    group.post("api/cameras/:camera/snapshots") { request, context in try await capture(request, context) }
  }

  private func capture(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try context.parameters.require("camera")
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let wish = try CaptureWish(
      json: Array(body.readableBytesView), timeout: registry.patience.snapshot)
    let pass = try gate.enter()
    defer { _ = consume pass }
    let (views, snapshot) = try await registry.consistently {
      let views = try wanted(wish, of: camera)
      return (views, try await take(views, wish, of: camera, context))
    }
    var pictures: [CapturedPicture] = []
    for (picture, entry) in zip(snapshot.pictures, views) {
      pictures.append(try await CapturedPicture(picture, wish, quality: wish.quality ?? entry.served.quality))
    }
    // What can't be answered is not told to others either.
    publish(snapshot)
    let isMultipart = request.headers[.accept]?.contains("multipart/mixed") == true
    return isMultipart
      ? multipart(snapshot, pictures) : try Response(json: CaptureAnswer(snapshot, pictures))
  }

  /// The views that are wanted: all that are on, unless some are named.
  private func wanted(_ wish: CaptureWish, of camera: String) throws(Problem) -> [ServedPreview] {
    let served = registry.served
    let views = try served.views(of: camera)
    guard let names = wish.views else { return views.filter(\.served.isEnabled) }
    guard !names.isEmpty else { throw .badParameter("views", "name at least one view, or leave 'views' out") }
    var wanted: [ServedPreview] = []
    for name in names {
      let view = try served.view(name, of: camera)
      guard view.served.isEnabled else { throw .switchedOff(view) }
      guard !wanted.contains(where: { $0.name == name }) else {
        throw .badParameter("views", "'\(name)' is there twice")
      }
      wanted.append(view)
    }
    return wanted
  }

  private func take(
    _ views: [ServedPreview], _ wish: CaptureWish, of camera: String, _ context: ServiceContext
  ) async throws -> Snapshot {
    guard !views.isEmpty else { throw Problem(.conflict, "'\(camera)' has no view that is switched on") }
    var request = wish.request(offline: views[0].offline)
    request.timeout = context.rest(of: request.timeout)
    request.isCropped = views.contains { $0.served.view.crop != nil }
    if views[0].isScene {
      let frame = try await registry.session.drawScene(views[0].preview, within: request.timeout)
      return Snapshot(
        camera: camera, sequence: frame.sequence, timestamp: frame.timestamp,
        pictures: [SnapshotPicture(name: views[0].name, picture: frame.picture)])
    }
    let moment = try await snapshots.moment(of: views[0], request)
    let frames = try await registry.session.draw(views.map(\.preview), at: moment)
    return Snapshot(
      camera: camera, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
      sourceState: moment.sourceState,
      pictures: zip(views, frames).map {
        SnapshotPicture(name: $0.name, picture: $1.picture, iccProfile: $1.iccProfile)
      })
  }

  // MARK: As parts

  /// RFC 2046: one part a view, each with its name.
  private func multipart(_ snapshot: Snapshot, _ pictures: [CapturedPicture]) -> Response {
    var body = ByteBuffer()
    for picture in pictures {
      body.writeString(
        "--\(StreamPart.boundary)\r\nContent-Type: image/jpeg\r\nContent-Length: \(picture.jpeg.count)\r\n"
          + "Content-Disposition: attachment; filename=\"\(snapshot.camera)-\(picture.view).jpg\"\r\n"
          + "X-View: \(picture.view)\r\nX-Timestamp: \(snapshot.time.unixText)\r\n"
          + "X-Frame-Sequence: \(snapshot.sequence)\r\nX-Source-State: \(snapshot.sourceState.rawValue)\r\n\r\n"
      )
      body.writeBytes(picture.jpeg)
      body.writeString("\r\n")
    }
    body.writeString("--\(StreamPart.boundary)--\r\n")
    return Response(
      status: .ok,
      headers: [.contentType: "multipart/mixed; boundary=\(StreamPart.boundary)", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: body))
  }
}

/// What a POST says of the snapshot that it wants; an empty body says nothing.
struct CaptureWish: Sendable {
  /// By name; nil is all that are on.
  var views: [String]?
  /// Of JPEGs; nil is the view's own.
  var quality: Int?
  /// Of each JPEG.
  var maximumBytes: Int?
  /// What it is of a camera that gives nothing; nil is as the camera has it.
  var offline: OfflinePolicy?
  private var request = SnapshotRequest()

  /// The session's words for it; `offline` is the camera's.
  func request(offline: OfflinePolicy) -> SnapshotRequest {
    var request = request
    request.fallback = (self.offline ?? offline).fallback
    return request
  }

  private struct Body: Decodable {
    var views: [String]?
    var quality: Int?
    var max_bytes: Int?
    var max_age: Int?
    var timeout: Int?
    var still: Bool?
    var settle: Int?
    var offline: String?
  }

  private static let keys = [
    "views", "quality", "max_bytes", "max_age", "timeout", "still", "settle", "offline",
  ]

  /// What a body says; `timeout` holds where it says no other.
  ///
  /// - Throws: `Problem` 400 that names what is wrong.
  init(json: [UInt8], timeout: Duration) throws(Problem) {
    request.timeout = timeout
    guard !json.isEmpty else { return }
    let body: Body
    do {
      let keys = try JSONDecoder().decode([String: AnyValue].self, from: Data(json)).keys
      if let unknown = keys.sorted().first(where: { !Self.keys.contains($0) }) {
        throw Problem.badParameter(
          unknown, "there is no '\(unknown)' here (there are: \(Self.keys.joined(separator: ", ")))")
      }
      body = try JSONDecoder().decode(Body.self, from: Data(json))
    } catch let problem as Problem {
      throw problem
    } catch let error as DecodingError {
      throw Problem(.badRequest, "the body can't be read: \(error.place)")
    } catch {
      throw Problem(.badRequest, "the body is no JSON object")
    }
    views = body.views
    quality = try Self.checked("quality", body.quality, 1...100)
    maximumBytes = try Self.checked("max_bytes", body.max_bytes, 1...1_000_000_000)
    let age = try Self.checked("max_age", body.max_age, 0...86_400_000)
    let timeout = try Self.checked("timeout", body.timeout, 1...60_000)
    let settle = try Self.checked("settle", body.settle, 0...100)
    offline = body.offline.flatMap(OfflinePolicy.init)
    guard offline != nil || body.offline == nil else {
      throw .badParameter("offline", "'\(body.offline ?? "")' is none of placeholder, last, error")
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

/// Whatever a member is.
private struct AnyValue: Decodable {
  init(from decoder: any Decoder) throws {}
}

extension DecodingError {
  /// Where it went wrong, and how, in a few words.
  fileprivate var place: String {
    let context: Context? =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let path = context?.codingPath.map(\.stringValue).joined(separator: ".") ?? ""
    return path.isEmpty ? "it is no JSON object" : "'\(path)' is of another type"
  }
}

/// A picture as it is answered.
struct CapturedPicture: Sendable {
  let view: String
  let size: Size
  let jpeg: [UInt8]

  /// - Throws: `Problem` 400 where it can't be made so small.
  init(_ picture: SnapshotPicture, _ wish: CaptureWish, quality: Int) async throws {
    view = picture.name
    do {
      let frame = PreviewFrame(picture)
      let encoded =
        if let limit = wish.maximumBytes {
          try await frame.jpeg(quality: quality, maxBytes: limit)
        } else {
          try await frame.jpeg(quality: quality)
        }
      (size, jpeg) = (encoded.size, encoded.bytes)
    } catch let error as EncodingError {
      throw Problem.badParameter("max_bytes", error.description)
    }
  }
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
        view: $0.view, width: $0.size.width, height: $0.size.height, bytes: $0.jpeg.count,
        snapshot: String(decoding: Base64.encoded($0.jpeg), as: UTF8.self))
    }
  }
}
