// Decides which pictures of a video are recorded, and where one file ends and the next begins. It has no
// clock and does no I/O.

/// Takes the pictures of one video in order.
struct RecordingPlan: Sendable {
  enum Step: Sendable, Hashable {
    /// A file begins with these pictures. The first is a keyframe.
    case begin([VideoSample])
    case append(VideoSample)
    case end
  }

  /// The limits of a file, and of the pictures that wait for one. No camera's pictures reach them.
  static let mostBytes = 512 << 20
  static let mostWaitingBytes = 64 << 20
  /// How much longer than requested a recording may be, so that it ends before a keyframe and the next one
  /// can begin with that keyframe.
  static let longestWait = Duration.seconds(10)

  private let configuration: RecordingConfiguration
  /// When the last trigger ends, including what is recorded after it.
  private(set) var until: CaptureInstant?
  /// Whether a trigger has come since the last picture. It counts even if it has ended, because pictures may
  /// be far apart.
  private var isTriggered = false
  /// Whether something moves, with no known end.
  var isMoving = false
  /// Buffered pictures from a keyframe on that were not recorded.
  private var waiting: [VideoSample] = []
  private(set) var waitingBytes = 0
  private var file: File?

  private struct File {
    let start: CaptureInstant
    let format: H264Format
    var bytes: Int
  }

  init(_ configuration: RecordingConfiguration) { self.configuration = configuration }

  var isRecording: Bool { file != nil }

  /// Reports a trigger that lasts until `end`.
  mutating func trigger(until end: CaptureInstant) {
    until = max(until ?? .start, end + configuration.after)
    isTriggered = true
  }

  /// Ends the triggers at `time`. Recording continues for `after`.
  mutating func stop(at time: CaptureInstant) {
    until = until.map { min($0, time + configuration.after) }
  }

  private func isWanted(at time: CaptureInstant) -> Bool {
    configuration.when == .always || isMoving || isTriggered || until.map { time <= $0 } ?? false
  }

  /// Returns the steps for the next picture.
  mutating func take(_ sample: VideoSample) -> [Step] {
    guard let known = file else { return begin(with: sample) }
    defer { isTriggered = false }
    let isOver = !isWanted(at: sample.timestamp)
    let isLong =
      sample.timestamp - known.start >= configuration.segment || known.bytes >= Self.mostBytes
      || sample.format != known.format
    let isLate = isOver && sample.timestamp > (until ?? .start) + Self.longestWait
    if sample.isKey && (isOver || isLong) || isLate {
      file = nil
      return [.end] + begin(with: sample)
    }
    file?.bytes += sample.bytes.count
    return [.append(sample)]
  }

  /// Reports that the video has ended, or that pictures were lost on their way to the file.
  mutating func interrupt() -> [Step] {
    defer { (file, waiting, waitingBytes) = (nil, [], 0) }
    return file == nil ? [] : [.end]
  }

  private mutating func begin(with sample: VideoSample) -> [Step] {
    hold(sample)
    guard isWanted(at: sample.timestamp), let first = waiting.first else { return [] }
    defer { (waiting, waitingBytes, isTriggered) = ([], 0, false) }
    file = File(start: first.timestamp, format: first.format, bytes: waitingBytes)
    return [.begin(waiting)]
  }

  /// Buffers a picture, and those before it as far back as configured, from a keyframe on.
  private mutating func hold(_ sample: VideoSample) {
    if let first = waiting.first, first.format != sample.format { drop(waiting.count) }
    guard sample.isKey || !waiting.isEmpty else { return }
    waiting.append(sample)
    waitingBytes += sample.bytes.count
    guard sample.isKey || waitingBytes > Self.mostWaitingBytes else { return }
    let keys = waiting.indices.filter { waiting[$0].isKey }
    let before = configuration.when == .always ? .zero : configuration.before
    // The last keyframe that is early enough.
    let needed = keys.last { waiting[$0].timestamp <= sample.timestamp - before } ?? 0
    var dropped = needed
    var bytes = waitingBytes - waiting[..<dropped].reduce(0) { $0 + $1.bytes.count }
    while bytes > Self.mostWaitingBytes, dropped < waiting.count {
      let next = keys.first { $0 > dropped } ?? waiting.count
      bytes -= waiting[dropped..<next].reduce(0) { $0 + $1.bytes.count }
      dropped = next
    }
    drop(dropped)
  }

  /// Drops the oldest buffered pictures, up to the next keyframe.
  mutating func forgetOldest() {
    drop(waiting.indices.dropFirst().first { waiting[$0].isKey } ?? waiting.count)
  }

  private mutating func drop(_ count: Int) {
    waitingBytes -= waiting[..<count].reduce(0) { $0 + $1.bytes.count }
    waiting.removeFirst(count)
  }
}
