// The counters and timers of a service. `MetricFamily` has the help text of each metric.
internal import Synchronization

/// A stage between camera and client, as `glpreview_stage_seconds` measures it.
package enum ServiceStage: String, Sendable, CaseIterable {
  /// From upload to readback, including the wait for the GPU.
  case render
  /// Encoding a JPEG.
  case encode
  /// From capture until the picture is passed to a stream's connections.
  case deliver
  /// A snapshot, from request to answer.
  case snapshot
}

/// The counters and timers of a service.
package final class ServiceMetrics: Sendable {
  package enum SnapshotResult: String, Sendable, CaseIterable { case taken, placeholder, cached, failed }

  /// The result of writing a file or sending a message.
  package enum Outcome: String, Sendable { case done, failed, dropped }

  /// The result of a request that was forwarded to a peer. `refused` means status 400 to 499.
  package enum ForwardResult: String, Sendable, CaseIterable { case done, refused, failed, timeout }

  /// The result of a program's request through NATS. `large` means that the answer does not fit into a
  /// message, `dropped` that the request waited too long.
  package enum AnswerResult: String, Sendable { case done, refused, failed, large, dropped }

  /// The result of a request by a signed link. `wrong` means a signature by no key, `refused` that it has expired or
  /// may not show the camera, `limited` that its key has too many requests.
  package enum LinkResult: String, Sendable { case accepted, wrong, refused, limited }

  /// The result of a moment of a schedule. `missed` means that nothing was tried, `failed` that no picture was taken.
  package enum ScheduleResult: String, Sendable { case taken, missed, failed }

  /// The subject of a request for recorded pictures. `storyboard` is the description of its sheets.
  package enum RecordedKind: String, Sendable { case picture, storyboard, sheet, span }

  /// The result of a request for pictures. `cached` means status 304, `missing` that there are none of the requested
  /// time, `refused` any other status from 400 to 499.
  package enum RequestResult: String, Sendable { case done, cached, missing, refused, failed }

  package enum Event: Sendable, Hashable {
    /// An answered request.
    case request(method: String, route: String, status: Int)
    case snapshot(SnapshotResult)
    /// A snapshot file.
    case file(Outcome)
    /// A file deleted from the folder to keep its limits.
    case removedFile
    /// A recorded file.
    case recording(Outcome)
    case recordedBytes
    /// A recording deleted to keep the folder's limits, or because the disk is full.
    case removedRecording
    case webhook(Outcome)
    case webhookRetry
    case forwarded(ForwardResult)
    case answered(AnswerResult)
    /// An event exchanged with other nodes through NATS.
    case relayed(Outcome)
    /// An event received from a peer.
    case peerEvent(Outcome)
    /// A message to the MQTT server.
    case mqtt(Outcome)
    /// A snapshot requested by MQTT.
    case mqttCommand(Outcome)
    /// A request by a signed link; `key` is the name of a configured key, or empty.
    case link(key: String, LinkResult)
    /// A picture sent to a store.
    case upload(store: String, Outcome)
    case uploadRetry(store: String)
    /// A moment of a schedule.
    case scheduled(camera: String, schedule: String, ScheduleResult)
    /// A request for recorded pictures that this node answered. `camera` is empty if no camera has that name now.
    case recorded(camera: String, RecordedKind, RequestResult)
    /// A request for a time-lapse. `camera` is empty if no camera has that name now.
    case timeLapse(camera: String, RequestResult)

    fileprivate var name: String {
      switch self {
      case .request: "glpreview_http_requests_total"
      case .snapshot: "glpreview_snapshots_total"
      case .file: "glpreview_folder_files_total"
      case .removedFile: "glpreview_folder_removed_total"
      case .recording: "glpreview_recordings_total"
      case .recordedBytes: "glpreview_recorded_bytes_total"
      case .removedRecording: "glpreview_recordings_removed_total"
      case .webhook: "glpreview_webhook_events_total"
      case .webhookRetry: "glpreview_webhook_retries_total"
      case .forwarded: "glpreview_peer_requests_total"
      case .answered: "glpreview_broker_requests_total"
      case .relayed: "glpreview_broker_events_total"
      case .peerEvent: "glpreview_peer_events_total"
      case .mqtt: "glpreview_mqtt_messages_total"
      case .mqttCommand: "glpreview_mqtt_commands_total"
      case .link: "glpreview_link_requests_total"
      case .upload: "glpreview_uploads_total"
      case .uploadRetry: "glpreview_upload_retries_total"
      case .scheduled: "glpreview_scheduled_snapshots_total"
      case .recorded: "glpreview_recorded_requests_total"
      case .timeLapse: "glpreview_time_lapse_requests_total"
      }
    }

    fileprivate var labels: [MetricFamily.Label] {
      switch self {
      case .request(let method, let route, let status):
        [("method", method), ("route", route), ("status", "\(status)")]
      case .snapshot(let result): [("result", result.rawValue)]
      case .file(let result), .recording(let result), .webhook(let result), .relayed(let result),
        .peerEvent(let result), .mqtt(let result), .mqttCommand(let result):
        [("result", result.rawValue)]
      case .forwarded(let result): [("result", result.rawValue)]
      case .answered(let result): [("result", result.rawValue)]
      case .link(let key, let result): [("key", key), ("result", result.rawValue)]
      case .upload(let store, let result): [("store", store), ("result", result.rawValue)]
      case .uploadRetry(let store): [("store", store)]
      case .scheduled(let camera, let schedule, let result):
        [("camera", camera), ("schedule", schedule), ("result", result.rawValue)]
      case .recorded(let camera, let kind, let result):
        [("camera", camera), ("kind", kind.rawValue), ("result", result.rawValue)]
      case .timeLapse(let camera, let result): [("camera", camera), ("result", result.rawValue)]
      case .removedFile, .webhookRetry, .recordedBytes, .removedRecording: []
      }
    }
  }

  /// Parts passed to a stream's connection.
  let sentParts = Atomic(0)
  /// Parts replaced by a newer one before a connection accepted them.
  let skippedParts = Atomic(0)
  /// Bytes of the parts that were sent.
  let sentBytes = Atomic(0)
  /// Connections closed because the client did not read.
  let cutOff = Atomic(0)
  private let events: Mutex<[Event: Int]>
  private let stages: [ServiceStage: Histogram]

  package init() {
    // The other counters appear with their first event.
    let shown: [Event] = SnapshotResult.allCases.map { .snapshot($0) } + [.removedFile, .webhookRetry]
    events = Mutex(Dictionary(uniqueKeysWithValues: shown.map { ($0, 0) }))
    stages = Dictionary(uniqueKeysWithValues: ServiceStage.allCases.map { ($0, Histogram()) })
  }

  package func count(_ event: Event, by amount: Int = 1) {
    events.withLock { $0[event, default: 0] += amount }
  }

  package func countParts(sent: Int, skipped: Int, bytes: Int) {
    if sent > 0 { sentParts.wrappingAdd(sent, ordering: .relaxed) }
    if skipped > 0 { skippedParts.wrappingAdd(skipped, ordering: .relaxed) }
    if bytes > 0 { sentBytes.wrappingAdd(bytes, ordering: .relaxed) }
  }

  package func countCutOff() { cutOff.wrappingAdd(1, ordering: .relaxed) }

  package func measured(_ stage: ServiceStage, _ duration: Duration) { stages[stage]?.record(duration) }

  package var families: [MetricFamily] {
    let events = events.withLock { $0 }
    let counted = Dictionary(grouping: events, by: \.key.name).map { name, events in
      let samples = events.map { event, count in
        MetricFamily.Sample(labels: event.labels, value: Double(count))
      }
      return MetricFamily(
        name, .counter,
        samples.sorted { one, other in
          one.labels.lexicographicallyPrecedes(other.labels) { $0.value < $1.value }
        })
    }
    func counter(_ name: String, _ number: borrowing Atomic<Int>) -> MetricFamily {
      MetricFamily(name, .counter, value: Double(number.load(ordering: .relaxed)))
    }
    return counted + [
      counter("glpreview_stream_pictures_total", sentParts),
      counter("glpreview_stream_skipped_total", skippedParts),
      counter("glpreview_stream_bytes_total", sentBytes),
      counter("glpreview_stream_cut_off_total", cutOff),
      MetricFamily(
        "glpreview_stage_seconds", .histogram,
        ServiceStage.allCases.flatMap { stages[$0]?.samples([("stage", $0.rawValue)]) ?? [] }),
    ]
  }
}

/// The durations of one stage, in seconds.
private final class Histogram: Sendable {
  private struct State {
    /// The number of durations up to each bound and above the previous one; the last one counts those above
    /// all bounds.
    var counts: [Int]
    var sum = 0.0
  }

  /// The bounds in seconds. A stage of a picture takes one to ten milliseconds, a request up to ten seconds.
  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  private let state = Mutex(State(counts: [Int](repeating: 0, count: Histogram.bounds.count + 1)))

  func record(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += seconds
    }
  }

  /// Returns the samples with `labels`. Buckets are cumulative, as Prometheus requires.
  func samples(_ labels: [MetricFamily.Label]) -> [MetricFamily.Sample] {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total = 0
    var samples: [MetricFamily.Sample] = []
    for (count, bound) in zip(counts, Self.bounds + [.infinity]) {
      total += count
      let labels = labels + [("le", MetricFamily.text(of: bound))]
      samples.append(.init(suffix: "_bucket", labels: labels, value: Double(total)))
    }
    samples.append(.init(suffix: "_sum", labels: labels, value: sum))
    samples.append(.init(suffix: "_count", labels: labels, value: Double(total)))
    return samples
  }
}
