// What a service counts, by its names: each is said here once.
internal import CoreMetrics
internal import GLPreview

/// The counters of a service. Those with labels are to be kept by who counts: finding one takes a lock and a look-up.
struct ServiceMetrics: Sendable {
  /// What became of a snapshot.
  enum SnapshotResult: String, Sendable, CaseIterable { case taken, placeholder, cached, failed }

  /// What became of a file or a message.
  enum Outcome: String, Sendable, CaseIterable { case done, failed, dropped }

  private let factory: any MetricsFactory

  /// Messages to the webhook that were tried again.
  let webhookRetries: Counter
  /// Files that were removed from the folder to keep its limits.
  let folderRemoved: Counter

  /// Counters of `factory`.
  init(_ factory: any MetricsFactory) {
    self.factory = factory
    func counter(_ name: String) -> Counter { Counter(label: name, factory: factory) }
    webhookRetries = counter("glpreview_webhook_retries_total")
    folderRemoved = counter("glpreview_folder_removed_total")
  }

  /// How long a step takes.
  func stage(_ stage: ServiceStage) -> CoreMetrics.Timer {
    CoreMetrics.Timer(
      label: "glpreview_stage_seconds", dimensions: [("stage", stage.rawValue)], factory: factory)
  }

  /// Snapshots that were asked for.
  func snapshots(_ result: SnapshotResult) -> Counter {
    counter("glpreview_snapshots_total", [("result", result.rawValue)])
  }

  /// Messages to the webhook.
  func webhook(_ result: Outcome) -> Counter {
    counter("glpreview_webhook_events_total", [("result", result.rawValue)])
  }

  /// Pictures for the folder.
  func folder(_ result: Outcome) -> Counter {
    counter("glpreview_folder_files_total", [("result", result.rawValue)])
  }

  /// Requests that were answered.
  func requests(method: String, route: String, status: Int) -> Counter {
    counter(
      "glpreview_http_requests_total", [("method", method), ("route", route), ("status", "\(status)")])
  }

  private func counter(_ name: String, _ dimensions: [(String, String)]) -> Counter {
    Counter(label: name, dimensions: dimensions, factory: factory)
  }

  /// What is said of each name.
  static let help = [
    "glpreview_frames_captured_total": "Frames that came from a camera.",
    "glpreview_frames_dropped_total": "Frames of a camera that nobody took in time.",
    "glpreview_frames_damaged_total": "Frames of a camera that arrived broken.",
    "glpreview_pictures_rendered_total": "Pictures that were rendered, however many got them.",
    "glpreview_jpegs_encoded_total": "JPEGs that were encoded, however many got them.",
    "glpreview_stage_seconds": "How long a step of a picture's way takes.",
    "glpreview_stream_clients": "Who watches a view.",
    "glpreview_stream_bytes_total": "Bytes that streams' clients were sent.",
    "glpreview_stream_pictures_total": "Pictures that streams' clients were sent.",
    "glpreview_stream_cut_off_total":
      "Clients that were cut off: they took nothing of a stream or an answer.",
    "glpreview_stream_skipped_total": "Pictures that a stream's client was too slow for.",
    "glpreview_snapshots_total": "Snapshots that were asked for, by what became of them.",
    "glpreview_source_state": "1 for the state that a camera is in.",
    "glpreview_source_reconnections_total": "How often a camera was found again.",
    "glpreview_gpu_info": "1, with the GPU that draws.",
    "glpreview_http_requests_total": "Requests that were answered.",
    "glpreview_event_clients": "Who follows the events.",
    "glpreview_webhook_events_total": "Messages to the webhook, by what became of them.",
    "glpreview_webhook_retries_total": "Messages to the webhook that were tried again.",
    "glpreview_folder_files_total": "Pictures for the folder, by what became of them.",
    "glpreview_folder_removed_total": "Files that were removed from the folder to keep its limits.",
    "glpreview_memory_budget_bytes": "Memory that pictures may take in all: limits.memory.",
    "glpreview_memory_reserved_bytes": "Memory that pictures take or are about to.",
    "glpreview_memory_reserved_peak_bytes": "The most of it at a time.",
    "glpreview_memory_refused_total": "Pictures and requests that there was no memory for.",
    "glpreview_metrics_refused_total": "Metrics that were not kept: too many, or a name of two kinds.",
    "process_cpu_seconds_total": "Time of all threads on a core.",
    "process_resident_memory_bytes": "Memory that is in use.",
    "process_virtual_memory_bytes": "Memory that is mapped.",
    "process_open_fds": "Open file descriptors.",
    "process_max_fds": "How many file descriptors may be open.",
    "process_start_time_seconds": "When the process began, since 1970.",
  ]
}

extension MetricFamily {
  /// `glpreview_source_state` of cameras: each has a sample for every state, and one of them is 1.
  static func cameraStates(_ cameras: [(name: String, state: CameraState)]) -> MetricFamily {
    MetricFamily(
      "glpreview_source_state", .gauge,
      cameras.flatMap { camera in
        CameraState.allCases.map { state in
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
