// The core's metrics: counters, and values of its parts.

extension ServiceCore {
  package var metricFamilies: [MetricFamily] {
    let (statistics, budget) = (registry.session.statistics, registry.budget)
    let caches = registry.session.rendererCaches
    var families = metrics.families + videos.counters.families + ProcessMetrics.families + cameraFamilies
    families += [
      MetricFamily("glpreview_event_clients", value: Double(events.log.subscriberCount)),
      MetricFamily("glpreview_pictures_rendered_total", .counter, value: Double(statistics.pictures)),
      MetricFamily("glpreview_pictures_passed_total", .counter, value: Double(statistics.passed)),
      MetricFamily("glpreview_jpegs_encoded_total", .counter, value: Double(statistics.jpegs)),
      MetricFamily("glpreview_gpu_jpegs_total", .counter, value: Double(statistics.coded)),
      MetricFamily("glpreview_memory_budget_bytes", value: Double(budget.capacity)),
      MetricFamily("glpreview_memory_overhead_bytes", value: Double(budget.overhead)),
      MetricFamily("glpreview_memory_uncounted_bytes", value: Double(MemoryMonitor.uncounted(by: budget))),
      MetricFamily("glpreview_memory_reserved_bytes", value: Double(budget.reserved)),
      MetricFamily("glpreview_memory_reserved_peak_bytes", value: Double(budget.peak)),
      MetricFamily("glpreview_memory_refused_total", .counter, value: Double(budget.refusals)),
      MetricFamily("glpreview_renderer_cache_bytes", value: Double(caches.bytes)),
      MetricFamily("glpreview_renderer_programs", value: Double(caches.programs)),
      MetricFamily("glpreview_stream_clients", .gauge, streamClients),
      MetricFamily(
        "glpreview_gpu_seconds_total", .counter,
        ofViews { view in
          let time = view.preview.gpuTime.total
          return time == .zero ? nil : time / .seconds(1)
        }),
      MetricFamily(
        "glpreview_video_bitrate", .gauge,
        ofViews { view in view.preview.videoBitrate(view.served.video).map(Double.init) }),
      MetricFamily(
        "glpreview_video_reduced_clients", .gauge,
        ofViews { view in Double(videos.reducedCount(of: view.camera, view.name)) }),
    ]
    if let device = renderer.state.device {
      let labels: [MetricFamily.Label] = [
        ("renderer", device.name), ("vendor", device.driver?.vendor ?? ""),
        ("software", "\(device.isSoftware)"),
      ]
      families.append(MetricFamily("glpreview_gpu_info", .gauge, [.init(labels: labels, value: 1)]))
      if let passes = device.passes {
        families.append(
          MetricFamily(
            "glpreview_gpu_shaders", .gauge, [.init(labels: [("kind", passes.rawValue)], value: 1)]))
      }
    }
    return families
  }

  private var cameraFamilies: [MetricFamily] {
    let reports = registry.cameras.map { (name: $0.configuration.name, report: watch.report(of: $0)) }
    func counters(_ name: String, _ number: (CameraReport) -> Int) -> MetricFamily {
      MetricFamily(
        name, .counter,
        reports.map { MetricFamily.Sample(labels: [("camera", $0.name)], value: Double(number($0.report))) })
    }
    // Each camera has a sample for every state, and exactly one of them is 1.
    let states = reports.flatMap { name, report in
      SourceState.allCases.map { state in
        MetricFamily.Sample(
          labels: [("camera", name), ("state", state.rawValue)], value: state == report.state ? 1 : 0)
      }
    }
    return [
      counters("glpreview_frames_captured_total") { max($0.counters.received, $0.frames) },
      counters("glpreview_frames_dropped_total") { $0.counters.dropped + $0.counters.missed },
      counters("glpreview_frames_damaged_total") { $0.counters.damaged },
      counters("glpreview_source_reconnections_total") { $0.counters.reconnections },
      ofReplay("glpreview_replay_seconds") { $0.seconds },
      ofReplay("glpreview_replay_bytes") { Double($0.byteCount) },
      ofReplay("glpreview_replay_pictures") { Double($0.pictureCount) },
      MetricFamily("glpreview_source_state", .gauge, states),
      MetricFamily(
        "glpreview_source_info", .gauge,
        reports.compactMap { name, report in
          report.mode.map { mode in
            .init(
              labels: [("camera", name), ("format", mode.format), ("transport", mode.transport)], value: 1)
          }
        }),
    ]
  }

  /// Returns a sample for each camera with a replay buffer.
  private func ofReplay(_ name: String, _ value: (ReplayStatus) -> Double) -> MetricFamily {
    MetricFamily(
      name, .gauge,
      registry.cameras.compactMap { camera in
        registry.session[camera.source]?.replayStatus.map {
          .init(labels: [("camera", camera.configuration.name)], value: value($0))
        }
      })
  }

  private var streamClients: [MetricFamily.Sample] {
    ofViews { view in
      Double(
        streams.use(of: view.camera, view.name).clients + videos.clientCount(of: view.camera, view.name))
    }
  }

  /// Returns a sample for each view that has a value.
  private func ofViews(_ value: (ServedPreview) -> Double?) -> [MetricFamily.Sample] {
    registry.served.allViews.compactMap { view in
      value(view).map {
        MetricFamily.Sample(labels: [("camera", view.camera), ("view", view.name)], value: $0)
      }
    }
  }
}
