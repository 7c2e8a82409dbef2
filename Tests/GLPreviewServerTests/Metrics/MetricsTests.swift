// Numbers are counted exactly, and written as Prometheus reads them.
import CoreMetrics
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import GLPreviewServer

@Suite("Metrics")
struct MetricsTests {
  /// The lines of a text but for what is said of this process and of refusals.
  private static func lines(_ metrics: PrometheusMetrics) async -> [String] {
    await metrics.text().split(separator: "\n").map(String.init).filter { !$0.contains("metrics_refused") }
  }

  @Test("each kind of metric is written with its type, its unit and its labels")
  func kinds() async {
    let metrics = PrometheusMetrics()
    Counter(label: "a.requests", dimensions: [("path", "/")], factory: metrics).increment(by: 3)
    Counter(label: "a.requests", dimensions: [("path", "/")], factory: metrics).increment()
    FloatingPointCounter(label: "b_total", factory: metrics).increment(by: 0.5)
    Meter(label: "c", factory: metrics).set(-2.5)
    Gauge(label: "d", factory: metrics).record(7)

    #expect(
      await Self.lines(metrics) == [
        "# HELP a_requests_total a_requests_total", "# TYPE a_requests_total counter",
        #"a_requests_total{path="/"} 4"#, "# HELP b_total b_total", "# TYPE b_total counter",
        "b_total 0.5", "# HELP c c", "# TYPE c gauge", "c -2.5", "# HELP d d", "# TYPE d gauge", "d 7",
      ])
  }

  @Test("a timer is a histogram in seconds, whose buckets hold all that is no larger than their bound")
  func histogram() async {
    let metrics = PrometheusMetrics()
    let timer = ServiceMetrics(metrics).stage(.render)
    timer.recordNanoseconds(1_000_000)
    timer.recordMilliseconds(3)
    timer.recordSeconds(20)

    let lines = await Self.lines(metrics)

    #expect(lines.contains("# TYPE glpreview_stage_seconds histogram"))
    for (bound, count) in [
      ("0.0005", 0), ("0.001", 1), ("0.0025", 1), ("0.005", 2), ("10", 2), ("+Inf", 3),
    ] {
      #expect(lines.contains("glpreview_stage_seconds_bucket{stage=\"render\",le=\"\(bound)\"} \(count)"))
    }
    #expect(lines.contains(#"glpreview_stage_seconds_sum{stage="render"} 20.004"#))
    #expect(lines.contains(#"glpreview_stage_seconds_count{stage="render"} 3"#))
  }

  @Test("what has a meaning in the format is escaped, what it does not allow is replaced")
  func escapes() async {
    let metrics = PrometheusMetrics()
    Counter(label: "9 häuser", dimensions: [("a-b", "x\"y\\z\nw")], factory: metrics).increment()
    #expect(await Self.lines(metrics).last == #"_9_h_user_total{a_b="x\"y\\z\nw"} 1"#)
    #expect(
      MetricFamily.text(of: [MetricFamily("f", help: "a\\b\n\"c\"", value: .nan)])
        == "# HELP f a\\\\b\\n\"c\"\n# TYPE f gauge\nf NaN\n")
    #expect(MetricFamily.text(of: 1e300) == "1e+300")
    #expect(MetricFamily.text(of: -.infinity) == "-Inf")
  }

  @Test("labels that are alike are one series in any order, and no two others are")
  func series() async {
    let metrics = PrometheusMetrics()
    for dimensions in [
      [("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")], [("a", "1,b=1:2")], [("a", "1")], [("a", "")], [],
    ] {
      Counter(label: "n", dimensions: dimensions, factory: metrics).increment()
    }

    let lines = await Self.lines(metrics)

    #expect(lines.contains(#"n_total{a="1",b="2"} 2"#))
    #expect(lines.filter { $0.hasPrefix("n_total") }.count == 5)
  }

  @Test("labels that somebody makes up do not fill the memory, and one name is of one kind")
  func bounds() async {
    let metrics = PrometheusMetrics(capacity: 3)
    for number in 0..<10 {
      Counter(label: "n", dimensions: [("path", "\(number)")], factory: metrics).increment()
    }

    let text = await metrics.text()
    #expect(text.split(separator: "\n").filter { $0.hasPrefix("n_total{") }.count == 3)
    #expect(text.contains("\nglpreview_metrics_refused_total 7\n"))

    let other = PrometheusMetrics()
    Counter(label: "x_total", factory: other).increment()
    Meter(label: "x_total", factory: other).set(5.0)
    #expect(await Self.lines(other).suffix(2) == ["# TYPE x_total counter", "x_total 1"])
  }

  @Test("a metric that is given up is not written any more")
  func destroy() async {
    let metrics = PrometheusMetrics()
    let counter = Counter(label: "n", factory: metrics)
    counter.increment()
    counter.destroy()
    #expect(await Self.lines(metrics).isEmpty)
  }

  @Test("counting from many threads loses nothing")
  func threads() async {
    let metrics = PrometheusMetrics()
    let counter = Counter(label: "n", factory: metrics)
    let sum = FloatingPointCounter(label: "f", factory: metrics)
    let timer = CoreMetrics.Timer(label: "t", factory: metrics)

    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            counter.increment()
            sum.increment(by: 0.25)
            timer.recordSeconds(1)
          }
        }
      }
    }

    let lines = await Self.lines(metrics)
    for line in ["n_total 8000", "f_total 2000", "t_seconds_sum 8000", "t_seconds_count 8000"] {
      #expect(lines.contains(line))
    }
  }

  @Test("numbers that live elsewhere are asked for, and those of one name stand together")
  func collectors() async {
    let metrics = PrometheusMetrics()
    metrics.addCollector { [.streamClients([("a", "main", 2)])] }
    metrics.addCollector { [.streamClients([("b", "main", 0)]), .cameraStates([("a", .live)])] }
    metrics.addCollector { [.gpu(renderer: "llvmpipe", vendor: "Mesa", isSoftware: true)] }

    let lines = await Self.lines(metrics)

    #expect(lines.filter { $0 == "# TYPE glpreview_stream_clients gauge" }.count == 1)
    #expect(
      lines.filter { $0.hasPrefix("glpreview_stream_clients") } == [
        #"glpreview_stream_clients{camera="a",view="main"} 2"#,
        #"glpreview_stream_clients{camera="b",view="main"} 0"#,
      ])
    #expect(lines.contains(#"glpreview_source_state{camera="a",state="live"} 1"#))
    #expect(lines.contains(#"glpreview_source_state{camera="a",state="lost"} 0"#))
    #expect(lines.contains(#"glpreview_gpu_info{renderer="llvmpipe",vendor="Mesa",software="true"} 1"#))
  }

  @Test("the process tells of itself what all do")
  func process() throws {
    var values: [String: Double] = [:]
    for family in ProcessMetrics.families() { values[family.name] = family.samples.first?.value }

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

  @Test("requests are counted by route and status, refusals and what is not there too")
  func requests() async throws {
    let metrics = PrometheusMetrics()
    let router = Router(context: ServiceContext.self)
    router.add(middleware: RequestCountMiddleware(metrics: ServiceMetrics(metrics)))
    router.add(middleware: ProblemMiddleware())
    router.get("/cameras/:camera") { _, context -> Response in throw Problem.notFound("no such camera") }
    MetricsRoutes(metrics: metrics).add(to: router)

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
