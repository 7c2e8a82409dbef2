// The video file of one view: uncompressed pictures, or H.264.
import GLPreview

actor VideoOutput {
  private enum File {
    case raw(VideoFile)
    case encoded(VideoEncoder, VideoFileWriter)
  }

  private let file: File
  /// The rate at which pictures are shown; nil uses the pictures' own times.
  private let rate: Double?
  /// The interval between pictures whose times do not increase.
  private let interval: Duration
  private var keys: KeySchedule
  private var count = 0
  private var last: CaptureInstant?

  /// Opens the file at `path`; `-` is standard output. `framesPerSecond` is the source's rate.
  init(
    _ path: String, _ format: VideoFormat, _ settings: RenderSettings, framesPerSecond: Double
  ) throws(WriteError) {
    rate = settings.encoding.fps
    interval = .seconds(1 / max(framesPerSecond, 0.001))
    keys = KeySchedule(every: settings.encoding.video.keyframeInterval)
    if let kind = format.file {
      file = .encoded(VideoEncoder(settings.encoding.video), try VideoFileWriter(path, kind))
    } else {
      file = .raw(try VideoFile(path, format, framesPerSecond: framesPerSecond))
    }
  }

  /// Appends a picture; returns the number of bytes written. One call at a time.
  func write(_ picture: Picture, at timestamp: CaptureInstant) async throws -> Int {
    switch file {
    case .raw(let file): return try file.write(picture)
    case .encoded(let encoder, let file):
      let time = time(of: timestamp)
      let isKey = keys.isDue(at: time)
      let sample = try await encoder.encode(picture, at: time, isKey: isKey)
      if sample.isKey { keys.came(at: time) }
      let before = file.byteCount
      try file.append(sample)
      return file.byteCount - before
    }
  }

  /// Returns the time at which a picture is shown. Pictures of some files have no times of their own, and
  /// times restart when a file is played again.
  private func time(of timestamp: CaptureInstant) -> CaptureInstant {
    defer { count += 1 }
    let time: CaptureInstant
    if let rate {
      time = .start + .seconds(Double(count) / rate)
    } else {
      time = last.map { timestamp > $0 ? timestamp : $0 + interval } ?? timestamp
    }
    last = time
    return time
  }

  func finish() throws(WriteError) {
    if case .encoded(_, let file) = file { try file.finish(lastDuration: rate.map { .seconds(1 / $0) }) }
  }
}
