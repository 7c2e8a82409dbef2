// `/recordings/{camera}/storyboard.vtt` and `.jpg`: small pictures of a recorded span, for players'
// timelines.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

struct StoryboardRoutes: Sendable {
  let rights: RecordingRights
  /// Nil if nothing is recorded.
  let moments: RecordedMoments?
  let pictures: StillPictures
  /// Limits the requests that look for recordings and read where their keyframes are; others wait.
  private let searches = AdmissionLimit(capacity: 4, subject: "storyboards being prepared")
  /// Limits the sheets that are decoded and drawn at a time; others wait.
  private let drawings = AdmissionLimit(capacity: 2, subject: "storyboards being drawn")

  private static let problems: [HTTPResponse.Status] = [
    .notImplemented, .internalServerError, .badGateway, .gatewayTimeout,
  ]

  func add(to group: ServiceRoutes) {
    // Named as in other routes below `recordings`, which share the router's place.
    group.get(
      "recordings/:folder/storyboard.vtt", .unlinked,
      as: [
        .init(
          "getStoryboard", "Describes small pictures of a recorded span as WebVTT, for players' timelines",
          query: StoryboardQuery.Answer.cues.query,
          answers: [
            .bytes(
              Self.mediaType,
              purpose: "a cue for each picture, whose text is the URL of a sheet and `#xywh=X,Y,WIDTH,HEIGHT`"
            ), .notModified,
          ], problems: Self.problems)
      ]
    ) { request, context in try await cues(request, context) }
    group.get(
      "recordings/:folder/storyboard.jpg", .unlinked,
      as: [
        .init(
          "getStoryboardSheet", "Returns a sheet of small pictures of a recorded span",
          query: StoryboardQuery.Answer.sheet.query,
          answers: [
            .bytes(
              "image/jpeg", purpose: "up to 25 pictures in rows of 5; `X-Timestamp` is the time of the first"),
            .notModified,
          ], problems: Self.problems)
      ]
    ) { request, context in try await sheet(request, context) }
  }

  /// The media type of descriptions.
  private static let mediaType = "text/vtt"

  // MARK: Answers

  private func cues(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try context.parameters.require("folder").percentDecoded
    let query = try StoryboardQuery(request, for: .cues, at: .now)
    return try await answer(request, context, query, of: camera, as: .storyboard) { tiles in
      guard let found = try await prepared(query, context, { try await tiles.cues() }) else { return nil }
      // The role may have been lowered meanwhile.
      if found.showHidden { try context.require(.control) }
      let tile = found.tile
      let text = query.storyboard.text(
        of: found.ranges, tile: tile, at: query.sheetURL(of: camera, tile: tile))
      let tag = "\"\(Digest.name(of: Array(text.utf8)))\""
      let headers: HTTPFields = [
        .contentType: Self.mediaType, .cacheControl: "private, no-cache", .eTag: tag,
      ]
      if request.headers.hasCached(tag) { return Response(status: .notModified, headers: headers) }
      return Response(
        status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }

  private func sheet(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try context.parameters.require("folder").percentDecoded
    let query = try StoryboardQuery(request, for: .sheet, at: .now)
    return try await answer(request, context, query, of: camera, as: .sheet) { tiles in
      guard let sheet = try await prepared(query, context, { try await tiles.sheet() }),
        let first = sheet.tiles.compactMap(\.self).first
      else { return nil }
      // The role may have been lowered meanwhile, here and below.
      let needsControl = tiles.needsControl(sheet)
      if needsControl { try context.require(.control) }
      return try await pictures.composedResponse(
        to: request, StillQuery(jpegOfQuality: query.quality, timeout: query.timeout),
        named: "\(camera)-storyboard", of: Self.identity(of: sheet, tiles), at: first.moment.time,
        fields: HTTPFields(), context,
        while: {
          if needsControl { try context.require(.control) }
          // A view may have been hidden or masked meanwhile.
          guard tiles.mayShow(sheet) else {
            throw Problem.busy(
              .serviceUnavailable, "the configuration of '\(camera)' has just changed", retryAfter: 1)
          }
        }
      ) { [drawings] in
        let permit = try await drawings.enter(within: query.timeout)
        defer { withExtendedLifetime(permit) {} }
        return try await tiles.draw(sheet)
      }
    }
  }

  /// Identifies what a sheet shows, with all that is hidden in it.
  private static func identity(of sheet: StoryboardSheet, _ tiles: StoryboardTiles) -> String {
    let all = sheet.tiles.map { tile -> String in
      guard let tile else { return "" }
      let moment = tile.moment
      return "\(moment.recording.path) \(moment.number) \(moment.time.secondsText) \(tile.showing)"
    }
    return "storyboard \(sheet.size) \(sheet.tile) \(tiles.seesAll)\n\(all.joined(separator: "\n"))"
  }

  /// Finds the tiles of an answer in its turn, within its timeout, while the client stays.
  ///
  /// - Throws: `Problem`: 504 after the timeout, 429 and 503 if too many wait; the errors of `work`.
  private func prepared<Value: Sendable>(
    _ query: StoryboardQuery, _ context: ServiceContext,
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let found = try await context.whileClientStays { [searches] in
      try await withDeadline(context.rest(of: query.timeout)) {
        let permit = try await searches.enter(within: query.timeout)
        defer { withExtendedLifetime(permit) {} }
        return try await work()
      }
    }
    guard let found else {
      throw Problem(.gatewayTimeout, "the recordings were not read within the timeout")
    }
    return found
  }

  // MARK: Nodes

  /// Answers a request by `here`, which returns nil if nothing was recorded on this node, or has the node
  /// answer it that has the recordings.
  ///
  /// - Throws: `Problem`: 404 if no node has a recording of the span; the errors of `here`.
  private func answer(
    _ request: Request, _ context: ServiceContext, _ query: StoryboardQuery, of camera: String,
    as kind: ServiceMetrics.RecordedKind, here: (StoryboardTiles) async throws -> Response?
  ) async throws -> Response {
    let storyboard = query.storyboard
    let wanted = RecordedRequest(
      camera: camera, view: query.view, kind: kind, from: storyboard.start,
      to: storyboard.start(of: storyboard.count))
    return try await rights.answer(request, context, for: wanted) {
      guard let moments else { return nil }
      let tiles = StoryboardTiles(
        rights: rights, moments: moments, camera: camera, query: query, seesAll: context.role == .control)
      // Another node asks whether it is here.
      if request.method == .head, request.isFromPeer, try await tiles.areRecorded() {
        return Response(status: .ok)
      }
      return try await here(tiles)
    }
  }
}
