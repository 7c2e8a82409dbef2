// Numbers are counted exactly, and written as Prometheus reads them.
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

extension ServiceMetrics {
  /// What `/metrics` says of them.
  var text: String { MetricFamily.text(of: families) }
  fileprivate var lines: [String] { text.split(separator: "\n").map(String.init) }
}

@Suite("Metrics", .timeLimit(.minutes(15)))
struct MetricsTests {
  @Test("metric families are written with help, type and labels, sorted by name")
  func families() {
    let text = MetricFamily.text(of: [
      MetricFamily("glpreview_gpu_info", .gauge, [.init(labels: [("a", "1"), ("b", "")], value: -2.5)]),
      MetricFamily("b_total", .counter, value: 4), MetricFamily("c", .gauge, []),
    ])
    #expect(
      text == """
        # HELP b_total b_total
        # TYPE b_total counter
        b_total 4
        # HELP glpreview_gpu_info 1, with the GPU in use as labels.
        # TYPE glpreview_gpu_info gauge
        glpreview_gpu_info{a="1",b=""} -2.5

        """)
  }

  @Test("a pipeline stage is written as a histogram in seconds with cumulative, inclusive buckets")
  func histogram() {
    let metrics = ServiceMetrics()
    for milliseconds in [1, 3, 20_000] { metrics.measured(.render, .milliseconds(milliseconds)) }

    let lines = metrics.lines

    #expect(lines.contains("# TYPE glpreview_stage_seconds histogram"))
    for (bound, count) in [
      ("0.0005", 0), ("0.001", 1), ("0.0025", 1), ("0.005", 2), ("10", 2), ("+Inf", 3),
    ] {
      #expect(lines.contains("glpreview_stage_seconds_bucket{stage=\"render\",le=\"\(bound)\"} \(count)"))
    }
    #expect(lines.contains(#"glpreview_stage_seconds_sum{stage="render"} 20.004"#))
    #expect(lines.contains(#"glpreview_stage_seconds_count{stage="render"} 3"#))
    #expect(lines.contains(#"glpreview_stage_seconds_count{stage="encode"} 0"#))
  }

  @Test("label values are escaped, and large, infinite and NaN numbers are written for Prometheus")
  func escapes() {
    let family = MetricFamily("f", .gauge, [.init(labels: [("a", "x\"y\\z\nw")], value: .nan)])
    #expect(
      MetricFamily.text(of: [family]) == "# HELP f f\n# TYPE f gauge\nf{a=\"x\\\"y\\\\z\\nw\"} NaN\n")
    #expect(MetricFamily.text(of: 1e300) == "1e+300")
    #expect(MetricFamily.text(of: -.infinity) == "-Inf")
  }

  @Test("concurrent tasks lose no count, and unused counters are 0")
  func threads() async {
    let metrics = ServiceMetrics()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            metrics.count(.webhook(.done))
            metrics.count(.file(.failed), by: 2)
            metrics.countParts(sent: 1, skipped: 0, bytes: 10)
            metrics.measured(.deliver, .seconds(1))
          }
        }
      }
    }

    let lines = metrics.lines
    for line in [
      #"glpreview_webhook_events_total{result="done"} 8000"#,
      #"glpreview_folder_files_total{result="failed"} 16000"#, "glpreview_stream_pictures_total 8000",
      "glpreview_stream_bytes_total 80000", #"glpreview_stage_seconds_sum{stage="deliver"} 8000"#,
      #"glpreview_snapshots_total{result="taken"} 0"#, "glpreview_webhook_retries_total 0",
      "glpreview_folder_removed_total 0",
    ] {
      #expect(lines.contains(line), "\(line)")
    }
  }

  @Test("/metrics lists each camera with exactly one active state, its views and the GPU")
  func service() async throws {
    try await withService(StreamTests.configuration()) { service async throws in
      await until { service.inside.renderer.state.failure == nil }
      let lines = try await service.get("/metrics").text.split(separator: "\n")

      let states = lines.filter { $0.hasPrefix(#"glpreview_source_state{camera="camera",state=""#) }
      #expect(states.count == SourceState.allCases.count)
      #expect(states.filter { $0.hasSuffix(" 1") }.count == 1)
      #expect(lines.contains(#"glpreview_stream_clients{camera="camera",view="main"} 0"#))
      #expect(lines.contains { $0.hasPrefix(#"glpreview_frames_captured_total{camera="camera"} "#) })
      #expect(lines.contains { $0.hasPrefix(#"glpreview_gpu_info{renderer=""#) && $0.hasSuffix(" 1") })
      // The CPU has no shaders.
      let drawsOnCPU = lines.contains { $0.hasPrefix(#"glpreview_gpu_info{renderer="CPU"#) }
      #expect(lines.contains { $0.hasPrefix("glpreview_gpu_shaders{kind=") } != drawsOnCPU)
      let names = lines.filter { $0.hasPrefix("# TYPE ") }
      #expect(Set(names).count == names.count)
    }
  }

  @Test("process metrics report memory, CPU time, file descriptors and start time")
  func process() throws {
    var values: [String: Double] = [:]
    for family in ProcessMetrics.families { values[family.name] = family.samples.first?.value }

    #expect(try #require(values["process_resident_memory_bytes"]) > 1e6)
    #expect(try #require(values["process_virtual_memory_bytes"]) > 1e6)
    #expect(try #require(values["process_cpu_seconds_total"]) >= 0)
    #expect(try #require(values["process_open_fds"]) >= 3)
    #expect(try #require(values["process_max_fds"]) >= 3)

    // It began after this was written, and before now.
    let start = try #require(values["process_start_time_seconds"])
    #expect(start > 1_700_000_000)
    #expect(Duration.seconds(start) < CaptureClock.timeSince1970(CaptureClock.now))
  }

  @Test("requests are counted by method, route and status, including 404s and unknown methods")
  func requests() async throws {
    let metrics = ServiceMetrics()
    let router = Router(context: ServiceContext.self)
    router.add(middleware: RequestCountMiddleware(metrics: metrics))
    router.add(middleware: ProblemMiddleware())
    router.get("/cameras/:camera") { _, context -> Response in throw Problem.notFound("no such camera") }
    MetricsRoutes { metrics.families }.add(to: ServiceRoutes(router))

    try await Application(router: router).test(.router) { client in
      _ = try await client.execute(uri: "/cameras/a", method: .get)
      _ = try await client.execute(uri: "/cameras/b", method: .get)
      for path in ["/x", "/y"] { _ = try await client.execute(uri: path, method: .init("ODD") ?? .get) }

      let answer = try await client.execute(uri: "/metrics", method: .get)

      #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
      let lines = String(buffer: answer.body).split(separator: "\n").filter {
        $0.hasPrefix("glpreview_http_requests_total")
      }
      #expect(
        lines == [
          #"glpreview_http_requests_total{method="GET",route="/cameras/{camera}",status="404"} 2"#,
          #"glpreview_http_requests_total{method="other",route="NotFound",status="404"} 2"#,
        ])
    }
  }
}
