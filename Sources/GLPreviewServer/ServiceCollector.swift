// Collects the metrics that the service's parts keep themselves, on request.
internal import GLPreview
internal import Synchronization

/// Reads cameras, streams and the session.
struct ServiceCollector: Sendable {
  let registry: CameraRegistry
  let watch: CameraWatch
  let renderer: RendererWatch
  let streams: StreamRegistry
  let events: EventLog

  /// For `PrometheusMetrics.addCollector`.
  func families() -> [MetricFamily] {
    var families = cameraFamilies() + streamFamilies()
    families.append(MetricFamily("glpreview_event_clients", .gauge, value: Double(events.subscriberCount)))
    let (statistics, budget) = (registry.session.statistics, registry.budget)
    families += [
      MetricFamily("glpreview_pictures_rendered_total", .counter, value: Double(statistics.pictures)),
      MetricFamily("glpreview_jpegs_encoded_total", .counter, value: Double(statistics.jpegs)),
      MetricFamily("glpreview_memory_budget_bytes", .gauge, value: Double(budget.capacity)),
      MetricFamily("glpreview_memory_overhead_bytes", .gauge, value: Double(budget.overhead)),
      MetricFamily("glpreview_memory_reserved_bytes", .gauge, value: Double(budget.reserved)),
      MetricFamily("glpreview_memory_reserved_peak_bytes", .gauge, value: Double(budget.peak)),
      MetricFamily("glpreview_memory_refused_total", .counter, value: Double(budget.refusals)),
    ]
    if let device = renderer.state.device.map(DeviceAnswer.init) {
      families.append(.gpu(renderer: device.name, vendor: device.vendor ?? "", isSoftware: device.software))
    }
    return families
  }

  private func cameraFamilies() -> [MetricFamily] {
    let reports = registry.cameras.map { (name: $0.configuration.name, report: watch.report(of: $0)) }
    func counters(_ name: String, _ number: (CameraReport) -> Int) -> MetricFamily {
      MetricFamily(
        name, .counter,
        reports.map { MetricFamily.Sample(labels: [("camera", $0.name)], value: Double(number($0.report))) })
    }
    return [
      counters("glpreview_frames_captured_total") { max($0.counters.received, $0.frames) },
      counters("glpreview_frames_dropped_total") { $0.counters.dropped + $0.counters.missed },
      counters("glpreview_frames_damaged_total") { $0.counters.damaged },
      .reconnections(reports.map { ($0.name, $0.report.counters.reconnections) }),
      .cameraStates(reports.map { ($0.name, $0.report.state) }),
    ]
  }

  private func streamFamilies() -> [MetricFamily] {
    let counters = streams.counters
    let served = registry.served
    let views = served.cameras.flatMap(\.views) + served.scenes.map(\.view)
    func counter(_ name: String, _ number: borrowing Atomic<Int>) -> MetricFamily {
      MetricFamily(name, .counter, value: Double(number.load(ordering: .relaxed)))
    }
    return [
      .streamClients(views.map { ($0.camera, $0.name, streams.use(of: $0.camera, $0.name).clients) }),
      counter("glpreview_stream_pictures_total", counters.sent),
      counter("glpreview_stream_skipped_total", counters.skipped),
      counter("glpreview_stream_bytes_total", counters.bytes),
      counter("glpreview_stream_cut_off_total", counters.cutOff),
    ]
  }
}
