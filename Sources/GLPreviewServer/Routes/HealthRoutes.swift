// `/healthz`: the process responds. `/readyz`: a renderer works, and every required camera delivers pictures.
internal import HTTPTypes
internal import Hummingbird

/// Routes for supervisors and load balancers.
struct HealthRoutes: Sendable {
  let watch: CameraWatch
  let renderer: RendererWatch

  func add(to group: RouterGroup<ServiceContext>) {
    for path in ["healthz", "health"] as [RouterPath] {
      group.get(path) { _, _ in try Response(json: Health(status: "ok", failing: [], renderer: nil)) }
    }
    group.get("readyz") { _, _ in
      let failing = watch.failing.map { Failing(camera: $0.camera, reason: $0.why) }
      let renderer = renderer.state.failure
      guard failing.isEmpty, renderer == nil else {
        return try Response(
          status: .serviceUnavailable, headers: [.retryAfter: "1"],
          json: Health(status: "not ready", failing: failing, renderer: renderer))
      }
      return try Response(json: Health(status: "ready", failing: [], renderer: nil))
    }
  }
}

private struct Health: Encodable {
  let status: String
  let failing: [Failing]
  /// Why no renderer works.
  let renderer: String?
}

private struct Failing: Encodable {
  let camera: String
  let reason: String
}
