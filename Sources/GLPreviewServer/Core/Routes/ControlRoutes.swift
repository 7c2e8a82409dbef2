// `/api/cameras/{camera}/controls`: a camera's controls, such as exposure, and PATCH, which sets them.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// A camera's own controls.
struct ControlRoutes: Sendable {
  let registry: CameraRegistry
  let logger: Logger

  func add(to group: ServiceRoutes) {
    let answer = RouteAnswer.json(
      .object([.init("controls", .list(of: Self.control))]), "the controls of the camera")
    group.get(
      "api/cameras/:camera/controls",
      as: [.init("getControls", "Returns the controls of a camera, such as its exposure", answers: [answer])]
    ) { _, context in try await self.answer(V4L2Camera.controls(of: camera(context).source)) }
    group.patch(
      "api/cameras/:camera/controls",
      as: [
        .init(
          "setControls", "Sets controls by their names", body: .json(.names(.keywords([:]))),
          answers: [answer])
      ]
    ) { request, context in try await set(request, context) }
  }

  private static let control = JSONSchema.named(
    "Control",
    .object([
      .init("name", .text), .init("title", .text), .init("kind", .text),
      .init("minimum", .integer), .init("maximum", .integer), .init("step", .integer),
      .init("default", .integer), .optional("value", .integer, "missing if it can't be read"),
      .init(
        "items", .list(of: .object([.init("value", .integer), .init("name", .text)])), "the items of a menu"),
      .init("flags", .list(of: .text)),
    ]))

  private func camera(_ context: ServiceContext) throws -> CameraConfiguration {
    let name = try context.parameters.require("camera")
    guard let camera = registry.served[camera: name]?.configuration else {
      throw Problem.notFound("no camera '\(name)'")
    }
    guard V4L2Camera.isNamed(by: camera.source) else {
      throw Problem(.conflict, "'\(name)' is not a local camera, so it has no controls")
    }
    return camera
  }

  /// Sets controls. Values persist until the camera is unplugged, or opened with a configuration that sets
  /// them.
  private func set(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try camera(context)
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let members: [String: JSONScalar]
    do {
      members = try JSONDecoder().decode([String: JSONScalar].self, from: Data(body.readableBytesView))
    } catch {
      throw Problem(.badRequest, "the body must be a JSON object of control names and values")
    }
    // Controls that enable manual mode must be set before those that depend on it.
    let settings = members.sorted { ($0.key.isSwitch ? 0 : 1, $0.key) < ($1.key.isSwitch ? 0 : 1, $1.key) }
      .map { CameraControl.Setting(name: $0.key, value: "\($0.value)") }
    do {
      let controls = try await V4L2Camera.set(settings, of: camera.source)
      logger.info(
        "camera controls set",
        metadata: [
          "camera": "\(camera.name)",
          "controls": "\(settings.map { "\($0.name)=\($0.value)" }.joined(separator: ","))",
        ])
      return try answer(controls)
    } catch let error as SourceError where error.kind == .badRequest {
      throw Problem(.badRequest, error.reason)
    }
  }

  private func answer(_ controls: [CameraControl]) throws -> Response {
    try Response(json: ["controls": controls])
  }
}

extension String {
  /// Whether other controls depend on this one, such as `auto_exposure` and `white_balance_automatic`.
  fileprivate var isSwitch: Bool { contains("auto") }
}
