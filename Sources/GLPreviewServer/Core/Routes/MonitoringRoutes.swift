// What supervisors and monitoring ask. `/healthz`: the process responds. `/readyz`: a renderer works, and every required
// camera delivers pictures. `/metrics`: the counters, of requests too.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Routes for supervisors and load balancers.
struct HealthRoutes: Sendable {
  let watch: CameraWatch
  let renderer: RendererWatch

  private static func healthy(_ status: String) -> Response {
    Response(json: ["status": .string(status), "failing": []] as [String: JSONValue])
  }

  func add(to group: ServiceRoutes) {
    for path in ["healthz", "health"] as [RouterPath] {
      group.get(path, .open) { _, _ in Self.healthy("ok") }
    }
    group.get("readyz", .open) { _, _ in readiness() }
  }

  private func readiness() -> Response {
    let failing = watch.failing.map { camera, why in
      JSONValue.object(["camera": .string(camera), "reason": .string(why)])
    }
    let renderer = renderer.state.failure
    guard !failing.isEmpty || renderer != nil else { return Self.healthy("ready") }
    var members: [String: JSONValue] = ["status": "not ready", "failing": .array(failing)]
    members["renderer"] = renderer.map(JSONValue.string)
    return Response(status: .serviceUnavailable, headers: [.retryAfter: "1"], json: members)
  }
}

/// `GET /metrics`.
struct MetricsRoutes: Sendable {
  let families: @Sendable () -> [MetricFamily]

  func add(to group: ServiceRoutes) {
    group.get("metrics") { _, _ in
      Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: MetricFamily.text(of: families()))))
    }
  }
}
