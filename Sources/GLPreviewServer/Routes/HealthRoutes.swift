// `/healthz`: the process answers. `/readyz`: every camera that must work does.
internal import HTTPTypes
internal import Hummingbird

/// For who decides whether the service is to be restarted, or sent requests.
struct HealthRoutes: Sendable {
  let watch: CameraWatch

  func add(to group: RouterGroup<ServiceContext>) {
    for path in ["healthz", "health"] as [RouterPath] {
      group.get(path) { _, _ in try Response(json: Health(status: "ok", failing: [])) }
    }
    group.get("readyz") { _, _ in
      let failing = watch.failing.map { Failing(camera: $0.camera, reason: $0.why) }
      guard failing.isEmpty else {
        return try Response(
          status: .serviceUnavailable, headers: [.retryAfter: "1"],
          json: Health(status: "not ready", failing: failing))
      }
      return try Response(json: Health(status: "ready", failing: []))
    }
  }
}

private struct Health: Encodable {
  let status: String
  let failing: [Failing]
}

private struct Failing: Encodable {
  let camera: String
  let reason: String
}
