// Records one camera: passes the pictures of a view's video through the plan into files.
internal import Logging

/// The folder accepts no more data for a file; the folder's own log messages say why.
private struct RecordingFailure: Error, CustomStringConvertible {
  let description = "can't write to the recordings folder"
}

final class Recorder: Sendable {
  let camera: String
  private let configuration: RecordingConfiguration
  private let folder: RecordingFolder
  private let budget: MemoryBudget
  private let open: @Sendable () throws -> VideoStream
  private let view: String
  private let note: @Sendable (H264Format) -> RecordingNote
  private let isCurrent: @Sendable () -> Bool
  private let onChange: @Sendable (Recording) -> Void
  private let logger: Logger
  private let pending = Watched(PendingCommands())

  /// Commands that were not carried out yet.
  private struct PendingCommands {
    var until: CaptureInstant?
    var stops: CaptureInstant?
    var isMoving = false
    var isRecording = false
    /// Whether recording should end with what the camera has sent so far.
    var ends = false
    /// When the last trigger ends, whether carried out or not.
    var last: CaptureInstant?
  }

  /// How long pictures are collected before they are processed: in batches they cost much less than one by
  /// one.
  private static let pollInterval = Duration.milliseconds(500)
  /// Pictures are written together once the oldest is this old, or at so many bytes.
  private static let flushesEvery = Duration.milliseconds(900)
  private static let flushesAt = 512 << 10
  /// How long to wait at the end for a camera that sends nothing.
  private static let endsWithin = Duration.milliseconds(300)
  /// How long to wait after an error.
  private static let pause = Duration.seconds(5)

  /// `open` begins to watch the view, and `note` describes what is recorded of it, while `isCurrent` is true.
  /// `onChange` gets each file when it begins and when it has ended. The triggers of `before`, an earlier
  /// recorder of the camera, stay in force until they end.
  init(
    _ camera: String, _ view: String, _ configuration: RecordingConfiguration, _ folder: RecordingFolder,
    within budget: MemoryBudget, continuing before: Recorder? = nil, logger: Logger,
    note: @escaping @Sendable (H264Format) -> RecordingNote = { _ in RecordingNote() },
    isCurrent: @escaping @Sendable () -> Bool = { true },
    onChange: @escaping @Sendable (Recording) -> Void, open: @escaping @Sendable () throws -> VideoStream
  ) {
    self.camera = camera
    self.view = view
    (self.note, self.isCurrent) = (note, isCurrent)
    self.configuration = configuration
    self.folder = folder
    self.budget = budget
    self.logger = logger
    self.onChange = onChange
    self.open = open
    if let pending = before?.pending.value {
      let last = pending.last.flatMap { $0 + configuration.after > CaptureClock.now ? $0 : nil }
      let isMoving = pending.isMoving && configuration.when == .motion
      self.pending.update { ($0.until, $0.last, $0.isMoving) = (last, last, isMoving) }
    }
  }

  /// Whether a file is open.
  var isRecording: Bool { pending.value.isRecording }

  /// Reports a trigger that lasts until `end`.
  func trigger(until end: CaptureInstant) {
    pending.update {
      $0.until = max($0.until ?? .start, end)
      $0.last = max($0.last ?? .start, end)
    }
  }

  /// Reports whether something moves. Motion that begins and ends between two checks is recorded too.
  func moves(_ isMoving: Bool) {
    guard pending.withLock({ $0.isMoving }) != isMoving else { return }
    pending.withLock { $0.isMoving = isMoving }
    trigger(until: CaptureClock.now)
  }

  /// Ends all triggers now.
  func stop() { pending.update { ($0.until, $0.last, $0.stops) = (nil, nil, CaptureClock.now) } }

  /// Ends recording with what the camera has sent so far.
  func end() { pending.update { $0.ends = true } }

  /// Records until `end` is called. Tries again after an error.
  func run() async {
    var (plan, trouble) = (RecordingPlan(configuration), String?.none)
    while !pending.withLock({ $0.ends }) {
      do {
        let stream = try open()
        defer { stream.end() }
        let ending = Task { [pending] in
          _ = try await pending.first { $0.ends ? true : nil }
          try await Task.sleep(for: Self.endsWithin)
          stream.end()
        }
        defer { ending.cancel() }
        try await record(stream, &plan)
        trouble = nil
      } catch {
        let reason = Problem(error)?.detail ?? "\(error)"
        if reason != trouble {
          logger.warning("camera not recorded", metadata: ["camera": "\(camera)", "reason": "\(reason)"])
        }
        trouble = reason
      }
      await rest(for: Self.pause)
    }
  }

  /// Waits, but not longer than until `end` is called.
  private func rest(for time: Duration) async {
    _ = try? await pending.first(until: CaptureClock.now + time) { $0.ends ? true : nil }
  }

  /// A file that is being written.
  private struct File {
    let handle: RecordingHandle
    let recording: Recording
    var mp4: FragmentedMP4
    /// Fragments that wait to be written, and since when.
    var bytes: [UInt8] = []
    var since: CaptureInstant?

    mutating func append(_ sample: VideoSample) {
      bytes += mp4.append(sample)
      since = since ?? sample.timestamp
    }
  }

  private func record(_ stream: VideoStream, _ plan: inout RecordingPlan) async throws {
    var file: File?
    let lease = try budget.reserve(0)
    defer {
      for step in plan.interrupt() { _ = carryOut(step, &file) }
      // After an error the plan may be ahead of the file.
      if file != nil { _ = carryOut(.end, &file) }
      pending.update { $0.isRecording = false }
    }
    var described: (format: H264Format, note: RecordingNote)?
    while let samples = try await stream.nextSamples() {
      // Asked after the pictures are there: they may show the view after a change, where this recorder's file
      // says what it was before.
      guard isCurrent() else { return end() }
      if let format = samples.first?.format {
        let now = (format: format, note: note(format))
        let isOther = described.map { $0.format == format && $0.note != now.note } ?? false
        described = now
        if isOther {
          // The camera's size has changed, and these pictures may be from before or after that.
          for step in plan.interrupt() where !carryOut(step, &file) { throw RecordingFailure() }
          continue
        }
      }
      let (until, stops, isMoving, ends) = pending.withLock { pending in
        defer { (pending.until, pending.stops) = (nil, nil) }
        return (pending.until, pending.stops, pending.isMoving, pending.ends)
      }
      plan.isMoving = isMoving
      if let stops { plan.stop(at: stops) }
      if let until { plan.trigger(until: until) }
      // Without pictures from the camera the file ends. The next one begins when the camera is back.
      for step in samples.isEmpty ? plan.interrupt() : samples.flatMap({ plan.take($0) })
      where !carryOut(step, &file) {
        // The file ends with what it has. The view is not watched during the pause, because a watcher that
        // does not read counts as a slow client.
        throw RecordingFailure()
      }
      hold(&plan, lease)
      if let since = file?.since, let last = samples.last, last.timestamp - since >= Self.flushesEvery,
        !flush(&file)
      {
        throw RecordingFailure()
      }
      if plan.isRecording != isRecording {
        let isRecording = plan.isRecording
        pending.withLock { $0.isRecording = isRecording }
      }
      if ends { return }
      await rest(for: Self.pollInterval)
    }
  }

  /// Reserves memory for the pictures that wait for a trigger, in steps. If there is too little, the oldest
  /// are dropped.
  private func hold(_ plan: inout RecordingPlan, _ lease: MemoryLease) {
    let step = 1 << 20
    while (try? lease.resize(to: (plan.waitingBytes + step - 1) / step * step)) == nil { plan.forgetOldest() }
  }

  /// Carries out a step, and returns whether it succeeded.
  private func carryOut(_ step: RecordingPlan.Step, _ file: inout File?) -> Bool {
    switch step {
    case .begin(let samples):
      guard let first = samples.first else { return true }
      let (note, start) = (note(first.format), WallTime(capturedAt: first.timestamp))
      let (handle, recording) = folder.begin(camera, view, note, at: start)
      let mp4 = FragmentedMP4(isFile: true, note: note.bytes(start: start))
      var new = File(handle: handle, recording: recording, mp4: mp4)
      for sample in samples { new.append(sample) }
      let bytes = new.bytes
      (new.bytes, new.since) = ([], nil)
      file = new
      onChange(recording)
      return folder.append(bytes, to: handle)
    case .append(let sample):
      file?.append(sample)
      return file.map { $0.bytes.count < Self.flushesAt } ?? true || flush(&file)
    case .end:
      let isWritten = flush(&file)
      guard let ended = file else { return true }
      file = nil
      folder.end(ended.handle, length: ended.mp4.length) { [onChange] in onChange($0 ?? ended.recording.lost)
      }
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
