// Routes for supervisors and monitoring. `/healthz`: the process responds. `/readyz`: a renderer works, and
// every required camera delivers frames. `/metrics`: all metrics.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Routes for supervisors and load balancers.
struct HealthRoutes: Sendable {
  let watch: CameraWatch
  let renderer: RendererWatch

  private static func healthy(_ status: String, renderer: String? = nil) -> Response {
    var members: [String: JSONValue] = ["status": .string(status), "failing": []]
    members["renderer"] = renderer.map(JSONValue.string)
    return Response(json: members)
  }

  func add(to group: ServiceRoutes) {
    for (path, name) in [("healthz", "getHealth"), ("health", "getHealthAtHealth")] {
      let entry = RouteEntry(
        name, "Says whether the process responds", answers: [.json(Self.health, "the process responds")])
      group.get(RouterPath(path), .open, as: [entry]) { _, _ in Self.healthy("ok") }
    }
    group.get(
      "readyz", .open,
      as: [
        .init(
          "getReadiness", "Says whether a renderer works and every required camera delivers frames",
          answers: [
            .json(Self.health, "the service is ready"),
            .json(Self.health, status: .serviceUnavailable, "the service is not ready"),
          ])
      ]
    ) { _, _ in readiness() }
  }

  private static let health = JSONSchema.named(
    "Health",
    .object([
      .init("status", .choice(["ok", "ready", "not ready"])),
      .init("failing", .list(of: .object([.init("camera", .text), .init("reason", .text)]))),
      .optional(
        "renderer", .text, "the reason why the renderer fails, or why the CPU draws in place of a GPU"),
    ]))

  private func readiness() -> Response {
    let failing = watch.failing.map { camera, why in
      JSONValue.object(["camera": .string(camera), "reason": .string(why)])
    }
    let renderer = renderer.state.failure
    guard !failing.isEmpty || renderer != nil else {
      return Self.healthy("ready", renderer: self.renderer.state.problem)
    }
    var members: [String: JSONValue] = ["status": "not ready", "failing": .array(failing)]
    members["renderer"] = renderer.map(JSONValue.string)
    return Response(status: .serviceUnavailable, headers: [.retryAfter: "1"], json: members)
  }
}

/// `GET /metrics`.
struct MetricsRoutes: Sendable {
  let families: @Sendable () -> [MetricFamily]

  func add(to group: ServiceRoutes) {
    group.get(
      "metrics",
      as: [
        .init(
          "getMetrics", "Returns the metrics, for Prometheus",
          answers: [.bytes("text/plain", purpose: "the text format of Prometheus")])
      ]
    ) { _, _ in
      Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: MetricFamily.text(of: families()))))
    }
  }
}
