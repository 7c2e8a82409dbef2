// `/api/recordings`, the files at `/recordings/`, and `/api/cameras/{camera}/recording`, which triggers a
// recording.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

struct RecordingRoutes: Sendable {
  let registry: CameraRegistry
  /// Nil if nothing is recorded.
  let recorders: Recorders?
  let rights: RecordingRights
  private var others: PeerRecordings { rights.others }

  private static let longestTrigger = 3600.0
  private static let mostListed = 1000

  private static let cameras = QueryKey<String>.text("camera", "lists only recordings of this camera")
  private static let from = QueryKey<Double>.number(
    "from", in: times, "lists only recordings that end after this time, in seconds since 1970")
  private static let to = QueryKey<Double>.number(
    "to", in: times, "lists only recordings that begin before this time, in seconds since 1970")
  private static let limit = QueryKey<Int>.integer(
    "limit", in: 1...mostListed, usual: 200, "the maximum number of recordings to list; the newest come first"
  )
  private static let query = [QueryEntry].of(cameras, from, to, limit)
  private static let times = 0.0...1e11

  func add(to group: ServiceRoutes) {
    group.get(
      "api/recordings",
      as: [
        .init(
          "listRecordings", "Lists the recordings of all nodes, the newest first", query: Self.query,
          answers: [.json(List.schema, "the recordings")])
      ]
    ) { request, context in try await list(request, context) }
    // Not named `camera`: a recording stays at its node even if its camera moves.
    group.get(
      "recordings/:folder/:name", .unlinked,
      as: [
        .init(
          "getRecording", "Returns a recording, or a range of it",
          answers: [
            .bytes("video/mp4", purpose: "the file"),
            .init(.partialContent, "the requested range", ["video/mp4": .keywords([:])]),
            .notModified,
          ], problems: [.rangeNotSatisfiable, .badGateway, .gatewayTimeout])
      ]
    ) { request, context in
      guard let (recording, folder) = try await recording(request, context) else {
        return try await others.pass(request, context)
      }
      return try await file(recording, in: folder, request, context)
    }
    group.delete(
      "recordings/:folder/:name",
      as: [
        .init(
          "deleteRecording", "Removes a recording", answers: [.nothing("the recording is removed")],
          problems: [.conflict, .internalServerError, .badGateway, .gatewayTimeout])
      ]
    ) { request, context in
      guard let (recording, folder) = try await recording(request, context) else {
        return try await others.pass(request, context)
      }
      return try await remove(recording, from: folder)
    }
    group.post(
      "api/cameras/:camera/recording",
      as: [
        .init(
          "record", "Starts a recording", body: .json(Trigger.schema, isRequired: false),
          answers: [
            .json(
              .object([.init("camera", .text), .init("until", .time)]), status: .accepted,
              "the end of the recording, unless another request moves it")
          ])
      ]
    ) { request, context in try await trigger(request, context) }
    group.delete(
      "api/cameras/:camera/recording",
      as: [
        .init(
          "endRecording", "Ends a recording that was started by POST",
          answers: [.nothing("the recording ends")])
      ]
    ) { _, context in
      let (camera, recorders) = try known(context)
      recorders.stop(camera)
      return Response(status: .noContent)
    }
  }

  // MARK: Triggers

  private func known(_ context: ServiceContext) throws -> (String, Recorders) {
    let name = try context.parameters.require("camera")
    guard let camera = registry.served[camera: name]?.configuration else {
      throw Problem.notFound("no camera '\(name)'")
    }
    guard camera.record.when == .never || recorders != nil else {
      throw Problem(.conflict, "recordings were configured after the start: restart the service")
    }
    guard let recorders, [.trigger, .motion].contains(camera.record.when) else {
      throw Problem(
        .conflict, "'\(name)' is not recorded by trigger: its record.when is \(camera.record.when)")
    }
    return (name, recorders)
  }

  private struct Trigger: Decodable {
    var duration: Double?

    static let schema = JSONSchema.object([
      .optional("duration", .number(in: 0...longestTrigger).orNull, "in seconds; 0 by default")
    ])
  }

  /// Records for `duration` seconds from now, plus the configured times before and after.
  private func trigger(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (camera, recorders) = try known(context)
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    var duration = 0.0
    if body.readableBytes > 0 {
      guard let trigger = try? JSONDecoder().decode(Trigger.self, from: Data(body.readableBytesView)) else {
        throw Problem(.badRequest, #"the body must be like {"duration": 10}, in seconds"#)
      }
      duration = trigger.duration ?? 0
    }
    guard (0...Self.longestTrigger).contains(duration) else {
      throw Problem.badParameter("duration", "\(duration) is not from 0 to 3600 s")
    }
    let end = CaptureClock.now + .seconds(duration)
    guard recorders.trigger(camera, until: end) else {
      throw Problem.busy(.serviceUnavailable, "the camera is not watched yet", retryAfter: 1)
    }
    return try Response(
      status: .accepted,
      json: ["camera": camera, "until": WallTime(capturedAt: end).description])
  }

  // MARK: Files

  private struct List: Encodable {
    var recordings: [Recording.Answer]
    var node: [String: String]?
    var peers: [PeerRecordings.Node]?

    static let schema = JSONSchema.object([
      .init("recordings", .list(of: Recording.schema)),
      .optional("node", .object([.init("name", .text)])),
      .optional(
        "peers",
        .list(of: .object([.init("name", .text), .init("state", .text), .optional("reason", .text)]))),
    ])
  }

  /// Lists the newest recordings of all nodes, or only this node's if a peer asks.
  private func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
    var query = try QueryParameters(request)
    let camera = try query.take(Self.cameras)
    let from = try query.take(Self.from).map { WallTime(sinceEpoch: .seconds($0)) }
    let to = try query.take(Self.to).map { WallTime(sinceEpoch: .seconds($0)) }
    let limit = try query.take(Self.limit) ?? 200
    try query.finish(known: Self.query)
    let found =
      await recorders?.folder.read(of: camera, from: from, to: to, limit: limit) {
        rights.mayShowPictures(of: $0, to: context.role)
      } ?? []
    var list = List(
      recordings: found.map { recording in
        var answer = recording.answer
        if !rights.isShown(recording, to: .read) { answer.file = Role.control.rawValue }
        return answer
      })
    guard others.areMeant(by: request) else { return try Response(json: list) }
    let name = others.ownName
    for index in list.recordings.indices { list.recordings[index].node = name }
    let elsewhere = try await context.whileClientStays { try await others.list(request, context) }
    list.recordings += elsewhere.recordings
    list.recordings.sort { ($1.start, $1.camera) < ($0.start, $0.camera) }
    list.recordings.removeLast(max(list.recordings.count - limit, 0))
    (list.node, list.peers) = (["name": name], elsewhere.nodes)
    return try Response(json: list)
  }

  /// The recording of a request; nil if another node may have it.
  private func recording(_ request: Request, _ context: ServiceContext) async throws -> (
    Recording, RecordingFolder
  )? {
    let folder = try context.parameters.require("folder").percentDecoded
    let name = try context.parameters.require("name").percentDecoded
    if let recorders, let recording = await recorders.folder.recording(folder, name) {
      return (recording, recorders.folder)
    }
    guard others.areMeant(by: request), StampedFileName(camera: folder, file: name, .recording) != nil else {
      throw Problem.notFound("no such recording")
    }
    return nil
  }

  private func remove(_ recording: Recording, from folder: RecordingFolder) async throws -> Response {
    switch await folder.remove(recording) {
    case .done: return Response(status: .noContent)
    case .isOpen: throw Problem(.conflict, "the recording has not ended yet")
    case .failed:
      throw Problem(.internalServerError, "the recording can't be removed: see the log of the service")
    }
  }

  /// Limits the files that are being sent: each holds two descriptors.
  private let readers = AdmissionLimit(capacity: 128, subject: "recordings being read")

  /// Sends a file, or a part of it. A file that is being recorded ends with what is written so far.
  private func file(
    _ recording: Recording, in folder: RecordingFolder, _ request: Request, _ context: ServiceContext
  ) async throws -> Response {
    if !rights.isShown(recording, to: .read) { try context.require(.control) }
    guard let file = await folder.open(recording) else {
      throw Problem.notFound("the recording has been removed")
    }
    let answer = FileAnswer(
      "the recording", byteCount: recording.bytes,
      entityTag: "\"\(recording.bytes)-\(recording.isOpen ? "open" : "whole")\"",
      headers: [.contentType: "video/mp4"],
      // Its view may be switched off or locked meanwhile, and the client's role lowered.
      while: { [rights] in rights.isShown(recording, to: .read) || context.holds(.control) },
      read: { await file.read($0, $1) })
    return try answer.response(to: request, context, by: readers, within: registry.budget)
  }
}
