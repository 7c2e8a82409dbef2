// Records one camera: the pictures of a view's video go through the plan into files.
internal import GLPreview
internal import Logging

/// The folder takes no more of a file; its own messages say why.
private struct RecordingFailure: Error, CustomStringConvertible {
  let description = "the folder of recordings takes nothing"
}

final class Recorder: Sendable {
  let camera: String
  private let configuration: RecordingConfiguration
  private let folder: RecordingFolder
  private let open: @Sendable () throws -> VideoStream
  private let view: String
  private let onChange: @Sendable (Recording) -> Void
  private let logger: Logger
  private let orders = Watched(Orders())

  /// What was asked and is not done yet.
  private struct Orders {
    var until: CaptureInstant?
    var stops = false
    var isMoving = false
    var isRecording = false
    /// Until when all triggers last, done or not.
    var last: CaptureInstant?
  }

  /// The longest that a picture waits in memory to be written together with others.
  private static let flushesEvery = Duration.seconds(1)
  private static let flushesAt = 512 << 10
  /// How long to wait after something failed.
  private static let pause = Duration.seconds(5)

  /// `open` begins to watch the view. `onChange` gets each file when it begins and when it has ended. The triggers of `before`, an
  /// earlier recorder of the camera, stay in force.
  init(
    _ camera: String, _ view: String, _ configuration: RecordingConfiguration, _ folder: RecordingFolder,
    continuing before: Recorder? = nil, logger: Logger, onChange: @escaping @Sendable (Recording) -> Void,
    open: @escaping @Sendable () throws -> VideoStream
  ) {
    self.camera = camera
    self.view = view
    self.configuration = configuration
    self.folder = folder
    self.logger = logger
    self.onChange = onChange
    self.open = open
    if let orders = before?.orders.value {
      self.orders.update { ($0.until, $0.last, $0.isMoving) = (orders.last, orders.last, orders.isMoving) }
    }
  }

  /// Whether a file is open.
  var isRecording: Bool { orders.value.isRecording }

  /// Something happens until `end`.
  func trigger(until end: CaptureInstant) {
    orders.update {
      $0.until = max($0.until ?? .start, end)
      $0.last = max($0.last ?? .start, end)
    }
  }

  /// Whether something moves.
  func moves(_ isMoving: Bool) {
    if orders.value.isMoving != isMoving { orders.update { $0.isMoving = isMoving } }
  }

  /// Triggers end now.
  func stop() { orders.update { ($0.until, $0.last, $0.stops) = (nil, nil, true) } }

  /// Records until it is cancelled. After an error it tries again.
  func run() async {
    var (plan, trouble) = (RecordingPlan(configuration), String?.none)
    while !Task.isCancelled {
      do {
        let stream = try open()
        try await withTaskCancellationHandler {
          try await record(stream, &plan)
        } onCancel: {
          stream.end()
        }
        trouble = nil
      } catch {
        let reason = Problem(error)?.detail ?? "\(error)"
        if reason != trouble, !Task.isCancelled {
          logger.warning("camera not recorded", metadata: ["camera": "\(camera)", "reason": "\(reason)"])
        }
        trouble = reason
      }
      try? await Task.sleep(for: Self.pause)
    }
  }

  /// A file that is being written.
  private struct File {
    let handle: RecordingHandle
    var mp4 = FragmentedMP4(isFile: true)
    /// Fragments that wait, and since when.
    var bytes: [UInt8] = []
    var since: CaptureInstant?

    mutating func append(_ sample: VideoSample) {
      bytes += mp4.append(sample)
      since = since ?? sample.timestamp
    }
  }

  private func record(_ stream: VideoStream, _ plan: inout RecordingPlan) async throws {
    var file: File?
    defer {
      for step in plan.interrupt() { _ = carryOut(step, &file) }
      orders.update { $0.isRecording = false }
    }
    while let sample = try await stream.next() {
      let (until, stops, isMoving) = orders.withLock { orders in
        defer { (orders.until, orders.stops) = (nil, false) }
        return (orders.until, orders.stops, orders.isMoving)
      }
      plan.moves(isMoving, at: sample.timestamp)
      if stops { plan.stop(at: sample.timestamp) }
      if let until { plan.trigger(until: until) }
      for step in plan.take(sample) where !carryOut(step, &file) {
        // The file ends with what it has. The view is not watched during the pause: who does not read what it
        // watches is taken for a slow client.
        throw RecordingFailure()
      }
      if plan.isRecording != isRecording {
        let isRecording = plan.isRecording
        orders.update { $0.isRecording = isRecording }
      }
    }
  }

  /// Whether it could be done.
  private func carryOut(_ step: RecordingPlan.Step, _ file: inout File?) -> Bool {
    switch step {
    case .begin(let samples):
      guard let first = samples.first else { return true }
      let (handle, recording) = folder.begin(camera, view, at: WallTime(capturedAt: first.timestamp))
      var new = File(handle: handle)
      for sample in samples { new.append(sample) }
      let bytes = new.bytes
      (new.bytes, new.since) = ([], nil)
      file = new
      onChange(recording)
      return folder.append(bytes, to: handle)
    case .append(let sample):
      file?.append(sample)
      guard let since = file?.since, let bytes = file?.bytes,
        sample.timestamp - since >= Self.flushesEvery || bytes.count >= Self.flushesAt
      else { return true }
      return flush(&file)
    case .end:
      let isWritten = flush(&file)
      guard let ended = file else { return true }
      file = nil
      folder.end(ended.handle, length: ended.mp4.length, then: onChange)
      return isWritten
    }
  }

  private func flush(_ file: inout File?) -> Bool {
    guard let open = file, !open.bytes.isEmpty else { return true }
    file?.bytes = []
    file?.since = nil
    return folder.append(open.bytes, to: open.handle)
  }
}
