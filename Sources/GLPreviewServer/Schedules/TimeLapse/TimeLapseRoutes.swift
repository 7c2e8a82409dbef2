// `/cameras/{camera}/{view}/timelapse.mp4`: the stored pictures of a view as a video.
internal import HTTPTypes
internal import Hummingbird

struct TimeLapseRoutes: Sendable {
  private let core: ServiceCore
  /// Nil if no snapshots are stored.
  private let folder: String?
  let timeLapses: TimeLapses
  /// Limits the files that are being sent: each holds a descriptor.
  private let readers = AdmissionLimit(capacity: 64, subject: "time-lapses being read")
  /// Limits the folders that are listed at a time; others wait.
  private let searches = AdmissionLimit(capacity: 4, subject: "folders being searched")

  /// How long a request waits for the searches of others at most.
  private static let queueTimeout = Duration.seconds(30)

  init(_ core: ServiceCore) {
    self.core = core
    folder = core.configuration.snapshots.folder?.path
    timeLapses = TimeLapses(
      TimeLapseMaker(
        session: core.registry.session, budget: core.registry.budget, folder: folder ?? "/",
        mostPixels: core.configuration.limits.pixels))
  }

  func add(to group: ServiceRoutes) {
    // Named as in other routes below a camera, which share the router's place.
    group.get(
      "cameras/:camera/:file/timelapse.mp4", .unlinked,
      as: [
        .init(
          "getTimeLapse",
          "Makes a video of a view's stored pictures; requires the role `control`",
          at: "cameras/:camera/:view/timelapse.mp4", query: TimeLapseQuery.query,
          answers: [
            .bytes("video/mp4", purpose: "the video; `X-Pictures` is the number of its pictures"),
            .init(.partialContent, "the requested range", ["video/mp4": .keywords([:])]),
            .notModified,
            .init(
              .insufficientStorage, "the disk is full", ["application/problem+json": .keywords([:])]),
          ], problems: [.rangeNotSatisfiable, .internalServerError, .notImplemented])
      ]
    ) { request, context in try await timeLapse(request, context) }
  }

  private func timeLapse(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try context.parameters.require("camera")
    // Clients choose the names in URLs, and each new one would be kept.
    let name = core.isConfigured(camera) ? camera : ""
    return try await core.metrics.counting(
      { .timeLapse(camera: name, $0) }, status: { (answer: Response) in answer.status.code }
    ) { try await timeLapse(of: camera, request, context) }
  }

  private func timeLapse(
    of camera: String, _ request: Request, _ context: ServiceContext
  ) async throws -> Response {
    // The role `read` may not see a time-lapse: stored pictures do not have the masks of now.
    try context.require(.control)
    let view = try context.parameters.require("file")
    let query = try TimeLapseQuery(request)
    guard let folder else {
      throw Problem.notFound("no pictures are stored: snapshots.folder is not set")
    }
    let timeLapse = try await context.whileClientStays { [self] in
      try await beforeShutdown { [self] in
        let found = try await pictures(of: camera, view, in: folder, query)
        return try await timeLapses.timeLapse(TimeLapseOrder(found, query, video(of: camera, view)))
      }
    }
    let grant = context.grant
    try grant?.check()
    var headers: HTTPFields = [.contentType: "video/mp4"]
    headers[named: "X-Pictures"] = "\(timeLapse.pictureCount)"
    if query.isDownload {
      let name = StampedFileName(camera: camera, view: view, time: query.from)
      headers[.contentDisposition] = "attachment; filename=\"\(name.camera)-\(name.view)-timelapse.mp4\""
    }
    let answer = FileAnswer(
      "the time-lapse", byteCount: timeLapse.byteCount, entityTag: timeLapse.entityTag, headers: headers,
      while: { grant.map { (try? $0.check()) != nil } ?? true }, read: { await timeLapse.read($0, $1) })
    return try answer.response(to: request, context, by: readers, within: core.registry.budget)
  }

  private func pictures(
    of camera: String, _ view: String, in folder: String, _ query: TimeLapseQuery
  ) async throws -> StoredPictures {
    let permit = try await searches.enter(within: Self.queueTimeout)
    defer { withExtendedLifetime(permit) {} }
    let found = await onDiskThread { Result { try StoredPictures(of: camera, view, in: folder, query) } }
    return try found.get()
  }

  /// The encoder's settings: those of the view if it is served.
  private func video(of camera: String, _ view: String) -> VideoConfiguration {
    let served = core.registry.served
    let views = served[camera: camera]?.views ?? served[scene: camera].map { [$0.view] } ?? []
    return views.first { $0.name == view }?.served.video ?? VideoConfiguration()
  }
}
