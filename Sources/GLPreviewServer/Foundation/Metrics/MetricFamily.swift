// Metrics in Prometheus's text format, version 0.0.4.

/// All samples of one metric name.
package struct MetricFamily: Sendable {
  package enum Kind: String, Sendable {
    /// Only increases.
    case counter
    /// Increases and decreases.
    case gauge
    /// Counts values by size; its samples have the suffixes `_bucket`, `_sum` and `_count`.
    case histogram
  }

  package typealias Label = (name: String, value: String)

  package struct Sample: Sendable {
    var suffix = ""
    package var labels: [Label] = []
    package let value: Double

    package init(suffix: String = "", labels: [Label] = [], value: Double) {
      (self.suffix, self.labels, self.value) = (suffix, labels, value)
    }
  }

  /// The name in lower snake case with the unit as suffix; counters end in `_total`.
  let name: String
  let kind: Kind
  let samples: [Sample]
  private let help: String

  /// Creates a family. Without `help`, the text is taken from the table.
  package init(_ name: String, _ kind: Kind, _ samples: [Sample], help: String? = nil) {
    (self.name, self.kind, self.samples) = (name, kind, samples)
    self.help = help ?? Self.help[name] ?? name
  }

  /// A single value without labels.
  package init(_ name: String, _ kind: Kind = .gauge, value: Double, help: String? = nil) {
    self.init(name, kind, [Sample(value: value)], help: help)
  }

  /// Returns the text of `families`, sorted by name. Their names must be unique.
  package static func text(of families: [MetricFamily]) -> String {
    var text = ""
    for family in families.sorted(by: { $0.name < $1.name }) where !family.samples.isEmpty {
      family.write(to: &text)
    }
    return text
  }

  private func write(to text: inout String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      text += name + sample.suffix
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
        text += "{\(labels.joined(separator: ","))}"
      }
      text += " \(Self.text(of: sample.value))\n"
    }
  }

  /// Formats a number.
  static func text(of value: Double) -> String {
    guard value.isFinite else { return value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf" }
    if let whole = Int(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
    return "\(value)"
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"": escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static let help = [
    "glpreview_frames_captured_total": "Frames captured from a camera.",
    "glpreview_frames_dropped_total":
      "Frames of a camera that were replaced before a client that needs every frame read them, or lost before they arrived.",
    "glpreview_frames_damaged_total": "Frames of a camera that arrived damaged.",
    "glpreview_pictures_rendered_total": "Rendered pictures, each counted once however many clients got it.",
    "glpreview_pictures_passed_total":
      "The camera's own JPEGs that were passed through, each counted once however many clients got it.",
    "glpreview_jpegs_encoded_total":
      "JPEGs encoded for streams and snapshots, each counted once however many clients got it.",
    "glpreview_mqtt_messages_total": "Messages to the MQTT server.",
    "glpreview_mqtt_commands_total": "Snapshots requested by MQTT.",
    "glpreview_link_requests_total": "Requests by signed links.",
    "glpreview_scheduled_snapshots_total": "Moments of a schedule, by result.",
    "glpreview_recorded_requests_total": "Requests for recorded pictures that this node answered, by result.",
    "glpreview_time_lapse_requests_total": "Requests for time-lapses, by result.",
    "glpreview_uploads_total": "Pictures sent to a store, by result.",
    "glpreview_upload_retries_total": "Retried pictures for a store.",
    "glpreview_stage_seconds": "Duration of a stage between camera and client.",
    "glpreview_video_pictures_total":
      "H.264 pictures, encoded or passed through, each counted once however many clients got it.",
    "glpreview_video_passed_total": "H.264 pictures of the camera that were passed through.",
    "glpreview_video_key_pictures_total": "H.264 keyframes.",
    "glpreview_video_bytes_total": "Bytes of H.264.",
    "glpreview_video_skipped_total": "H.264 pictures skipped because a client was too slow.",
    "glpreview_video_failures_total": "Encoder failures, after which the encoder is reopened or replaced.",
    "glpreview_video_encoders": "Running encoders, by kind.",
    "glpreview_video_bitrate":
      "The current maximum bits per second of a view's encoder; less than configured while most of its clients are too slow.",
    "glpreview_video_reduced_clients":
      "Clients that get a view as H.264 at half its size and rate because they are too slow.",
    "glpreview_stream_clients": "Clients that watch a view.",
    "glpreview_stream_bytes_total": "Bytes sent to stream clients.",
    "glpreview_stream_pictures_total": "Pictures sent to stream clients.",
    "glpreview_stream_cut_off_total": "Connections closed because the client did not read.",
    "glpreview_stream_skipped_total": "Pictures skipped because a stream's client was too slow.",
    "glpreview_snapshots_total": "Requested snapshots, by result.",
    "glpreview_source_info": "1, with the format and transport of the camera's last connection.",
    "glpreview_source_state": "1 for the camera's current state, 0 for the others.",
    "glpreview_source_reconnections_total": "Reconnections of a camera.",
    "glpreview_renderer_cache_bytes":
      "Memory that the renderer keeps for reuse: targets, buffers, tables, tiles.",
    "glpreview_renderer_programs": "Compiled shader programs.",
    "glpreview_gpu_info": "1, with the GPU in use as labels.",
    "glpreview_gpu_jpegs_total": "Pictures that the GPU coded as JPEG.",
    "glpreview_gpu_shaders": "1, with the kind of shaders that draw views.",
    "glpreview_gpu_seconds_total": "GPU time of a view, including URLs with parameters.",
    "glpreview_http_requests_total": "Answered requests.",
    "glpreview_event_clients": "Clients that receive events.",
    "glpreview_webhook_events_total": "Webhook events, by result.",
    "glpreview_webhook_retries_total": "Retried webhook events.",
    "glpreview_folder_files_total": "Snapshot files, by result.",
    "glpreview_folder_removed_total": "Snapshot files removed to keep the folder's limits.",
    "glpreview_peer_requests_total": "Requests forwarded to peers, by result.",
    "glpreview_memory_budget_bytes": "The memory budget of pictures: limits.memory.",
    "glpreview_memory_overhead_bytes": "The part of the memory budget that the program itself uses.",
    "glpreview_memory_reserved_bytes": "Memory reserved by pictures.",
    "glpreview_memory_reserved_peak_bytes": "The highest reservation so far.",
    "glpreview_memory_refused_total": "Pictures and requests refused because the memory budget was used up.",
    "process_cpu_seconds_total": "CPU time of all threads.",
    "process_resident_memory_bytes": "Resident memory.",
    "process_virtual_memory_bytes": "Virtual memory.",
    "process_open_fds": "Open file descriptors.",
    "process_max_fds": "Limit of open file descriptors.",
    "process_start_time_seconds": "Start time of the process, in seconds since 1970.",
  ]
}
