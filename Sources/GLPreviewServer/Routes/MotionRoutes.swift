// `/api/cameras/{camera}/motion`: what moves before a camera, and POST, which says from outside that something does.
internal import FoundationEssentials
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

struct MotionRoutes: Sendable {
  let registry: CameraRegistry
  let motion: MotionWatch

  func add(to group: RouterGroup<ServiceContext>) {
    group.get("api/cameras/:camera/motion") { _, context in
      let camera = try camera(context)
      let known = try known(camera)
      return Response(json: showsAll(camera) ? known.details : known.json)
    }
    group.get("api/cameras/:camera/motion/cells") { _, context in try cells(context) }
    group.post("api/cameras/:camera/motion") { request, context in
      let camera = try camera(context)
      let body = try await request.body.collect(upTo: context.maxUploadSize)
      let trigger = try MotionTrigger(json: Array(body.readableBytesView))
      return Response(json: motion.trigger(trigger.label, for: trigger.duration, before: camera).json)
    }
    group.delete("api/cameras/:camera/motion") { _, context in
      Response(json: motion.release(try camera(context)).json)
    }
  }

  private func camera(_ context: ServiceContext) throws -> ServedCamera {
    let name = try context.parameters.require("camera")
    guard let camera = registry.served[camera: name] else {
      throw Problem.notFound("there is no camera '\(name)'")
    }
    return camera
  }

  private func known(_ camera: ServedCamera) throws(Problem) -> WatchedMotion {
    if let known = motion[camera] { return known }
    throw Problem(
      .conflict, "'\(camera.configuration.name)' is not watched for motion: give it 'motion: true'")
  }

  /// Whether everybody who may look may see all of a camera: cells are of all of it.
  private func showsAll(_ camera: ServedCamera) -> Bool {
    camera.views.contains { $0.served.isEnabled && !$0.served.isLocked }
  }

  /// The last minute's cells, to be replayed elsewhere.
  private func cells(_ context: ServiceContext) throws -> Response {
    let camera = try camera(context)
    guard showsAll(camera) else {
      throw Problem(
        .forbidden,
        "the cells show all of '\(camera.configuration.name)', and its views are locked or switched off")
    }
    let bytes = MotionRecording(try known(camera).recent).bytes
    let name = "\(camera.configuration.name)-motion.cells"
    return Response(
      status: .ok,
      headers: [
        .contentType: "application/octet-stream", .cacheControl: "no-store",
        .contentDisposition: "attachment; filename=\"\(name)\"",
      ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

/// A POST's body: `{"duration": 10, "label": "person"}`, both optional.
struct MotionTrigger: Sendable, Hashable {
  /// At most an hour: whoever says that something moves may be gone before it says that it has ended.
  var duration = Duration.seconds(10)
  var label: String?

  private static let seconds = 0.1...3600.0
  private static let longestLabel = 64

  private struct Body: Decodable {
    var duration: Double?
    var label: String?
  }

  /// - Throws: `Problem` 400.
  init(json: [UInt8]) throws(Problem) {
    guard !json.isEmpty else { return }
    guard let body = try? JSONDecoder().decode(Body.self, from: Data(json)) else {
      throw Problem(.badRequest, "the body is a JSON object of 'duration', in seconds, and 'label'")
    }
    if let seconds = body.duration {
      guard Self.seconds.contains(seconds) else {
        throw .badParameter("duration", "\(seconds) is not from 0.1 to 3600 seconds")
      }
      duration = .seconds(seconds)
    }
    guard let label = body.label else { return }
    guard !label.isEmpty, label.utf8.count <= Self.longestLabel, !label.contains(where: \.isNewline) else {
      throw .badParameter("label", "a label is one line of 1 to \(Self.longestLabel) bytes")
    }
    self.label = label
  }
}
