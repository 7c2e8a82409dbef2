// The metrics of the service. Each name is defined only here.
internal import CoreMetrics
internal import GLPreview

/// The counters of a service. Keep counters with labels instead of looking them up again, which takes a lock.
struct ServiceMetrics: Sendable {
  /// The result of a snapshot request.
  enum SnapshotResult: String, Sendable, CaseIterable { case taken, placeholder, cached, failed }

  /// The result of writing a file or sending a message.
  enum Outcome: String, Sendable, CaseIterable { case done, failed, dropped }

  private let factory: any MetricsFactory

  /// Retried webhook messages.
  let webhookRetries: Counter
  /// Files deleted from the folder to keep its limits.
  let folderRemoved: Counter

  /// Creates the counters with `factory`.
  init(_ factory: any MetricsFactory) {
    self.factory = factory
    func counter(_ name: String) -> Counter { Counter(label: name, factory: factory) }
    webhookRetries = counter("glpreview_webhook_retries_total")
    folderRemoved = counter("glpreview_folder_removed_total")
  }

  /// The timer of a stage.
  func stage(_ stage: ServiceStage) -> CoreMetrics.Timer {
    CoreMetrics.Timer(
      label: "glpreview_stage_seconds", dimensions: [("stage", stage.rawValue)], factory: factory)
  }

  /// Requested snapshots.
  func snapshots(_ result: SnapshotResult) -> Counter {
    counter("glpreview_snapshots_total", [("result", result.rawValue)])
  }

  /// Webhook messages.
  func webhook(_ result: Outcome) -> Counter {
    counter("glpreview_webhook_events_total", [("result", result.rawValue)])
  }

  /// Snapshot files.
  func folder(_ result: Outcome) -> Counter {
    counter("glpreview_folder_files_total", [("result", result.rawValue)])
  }

  /// Answered requests.
  func requests(method: String, route: String, status: Int) -> Counter {
    counter(
      "glpreview_http_requests_total", [("method", method), ("route", route), ("status", "\(status)")])
  }

  private func counter(_ name: String, _ dimensions: [(String, String)]) -> Counter {
    Counter(label: name, dimensions: dimensions, factory: factory)
  }

  /// The help text of each metric.
  static let help = [
    "glpreview_frames_captured_total": "Frames captured from a camera.",
    "glpreview_frames_dropped_total": "Frames of a camera dropped because none was taken in time.",
    "glpreview_frames_damaged_total": "Frames of a camera that arrived damaged.",
    "glpreview_pictures_rendered_total": "Rendered pictures, each counted once however many clients got it.",
    "glpreview_jpegs_encoded_total":
      "JPEGs encoded for streams and snapshots, each counted once however many clients got it.",
    "glpreview_stage_seconds": "Duration of a stage between camera and client.",
    "glpreview_stream_clients": "Clients that watch a view.",
    "glpreview_stream_bytes_total": "Bytes sent to stream clients.",
    "glpreview_stream_pictures_total": "Pictures sent to stream clients.",
    "glpreview_stream_cut_off_total":
      "Connections closed because the client did not read.",
    "glpreview_stream_skipped_total": "Pictures skipped because a stream's client was too slow.",
    "glpreview_snapshots_total": "Requested snapshots, by result.",
    "glpreview_source_state": "1 for the camera's current state, 0 for the others.",
    "glpreview_source_reconnections_total": "Reconnections of a camera.",
    "glpreview_gpu_info": "1, with the GPU in use as labels.",
    "glpreview_http_requests_total": "Answered requests.",
    "glpreview_event_clients": "Clients that follow the events.",
    "glpreview_webhook_events_total": "Webhook events, by result.",
    "glpreview_webhook_retries_total": "Retried webhook events.",
    "glpreview_folder_files_total": "Snapshot files, by result.",
    "glpreview_folder_removed_total": "Snapshot files removed to keep the folder's limits.",
    "glpreview_memory_budget_bytes": "The memory budget of pictures: limits.memory.",
    "glpreview_memory_overhead_bytes": "The part of the memory budget that the program itself takes.",
    "glpreview_memory_reserved_bytes": "Memory reserved by pictures.",
    "glpreview_memory_reserved_peak_bytes": "The highest reservation so far.",
    "glpreview_memory_refused_total": "Pictures and requests refused because the memory budget was used up.",
    "glpreview_metrics_refused_total": "Metrics refused: too many, or one name with two kinds.",
    "process_cpu_seconds_total": "CPU time of all threads.",
    "process_resident_memory_bytes": "Resident memory.",
    "process_virtual_memory_bytes": "Virtual memory.",
    "process_open_fds": "Open file descriptors.",
    "process_max_fds": "Limit of open file descriptors.",
    "process_start_time_seconds": "Start time of the process, in seconds since 1970.",
  ]
}

extension MetricFamily {
  /// `glpreview_source_state`: each camera has a sample for every state, one of which is 1.
  static func cameraStates(_ cameras: [(name: String, state: SourceState)]) -> MetricFamily {
    MetricFamily(
      "glpreview_source_state", .gauge,
      cameras.flatMap { camera in
        SourceState.allCases.map { state in
          Sample(
            labels: [("camera", camera.name), ("state", state.rawValue)],
            value: state == camera.state ? 1 : 0)
        }
      })
  }

  /// `glpreview_stream_clients` of views.
  static func streamClients(_ views: [(camera: String, view: String, count: Int)]) -> MetricFamily {
    MetricFamily(
      "glpreview_stream_clients", .gauge,
      views.map { view in
        Sample(labels: [("camera", view.camera), ("view", view.view)], value: Double(view.count))
      })
  }

  /// `glpreview_source_reconnections_total` of cameras.
  static func reconnections(_ cameras: [(name: String, count: Int)]) -> MetricFamily {
    MetricFamily(
      "glpreview_source_reconnections_total", .counter,
      cameras.map { Sample(labels: [("camera", $0.name)], value: Double($0.count)) })
  }

  /// `glpreview_gpu_info`.
  static func gpu(renderer: String, vendor: String, isSoftware: Bool) -> MetricFamily {
    MetricFamily(
      "glpreview_gpu_info", .gauge,
      [
        Sample(
          labels: [("renderer", renderer), ("vendor", vendor), ("software", "\(isSoftware)")], value: 1)
      ])
  }
}
