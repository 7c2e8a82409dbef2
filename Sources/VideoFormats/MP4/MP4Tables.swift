// The sample tables of an MP4 file: where each sample is, how long it is shown, and where decoding can begin.

/// The sample tables of a file, which take twelve bytes per sample.
package struct MP4Tables {
  private var formats: [H264Format] = []
  /// Consecutive samples of one format: the format's index, the number of samples, and their bytes. Each run
  /// is one chunk.
  private var runs: [(format: Int, count: Int, bytes: Int)] = []
  private var sizes: [UInt32] = []
  private var durations: [UInt32] = []
  private var keys: [UInt32] = []
  private var last: CaptureInstant?
  /// The duration of all samples but the last, whose duration is not known yet.
  private var duration = 0
  private var start: CaptureInstant?

  package var isEmpty: Bool { sizes.isEmpty }

  package init() {}

  package mutating func append(_ sample: VideoSample) {
    let start = start ?? sample.timestamp
    self.start = start
    if last != nil {
      // Counted from the start, so that rounding errors do not add up.
      let ticks = UInt32(clamping: max(sample.timestamp.ticks(since: start) - duration, 1))
      durations.append(ticks)
      duration += Int(ticks)
    }
    last = sample.timestamp
    sizes.append(UInt32(clamping: sample.bytes.count))
    if sample.isKey { keys.append(UInt32(clamping: sizes.count)) }
    let format = formats.firstIndex(of: sample.format) ?? formats.count
    if format == formats.count { formats.append(sample.format) }
    if runs.last?.format != format { runs.append((format, 0, 0)) }
    runs[runs.count - 1].count += 1
    runs[runs.count - 1].bytes += sample.bytes.count
  }

  /// Returns everything that precedes the samples in a file. Players show it from `begin` on, if that is
  /// later than the first sample.
  package func head(lastDuration: Duration?, beginningAt begin: CaptureInstant? = nil) -> [UInt8] {
    let skipped = start.flatMap { start in begin?.ticks(since: start) } ?? 0
    let length = lastDuration.map { UInt32(clamping: Int($0 / .seconds(1) * Double(videoTimescale))) }
    let durations = durations + [max(length ?? self.durations.last ?? UInt32(videoTimescale / 30), 1)]
    // The offsets do not change the head's length.
    let head = head(durations, from: skipped, samplesAt: 0)
    return self.head(durations, from: skipped, samplesAt: head.count)
  }

  private func head(_ durations: [UInt32], from begin: Int, samplesAt offset: Int) -> [UInt8] {
    var boxes = MP4Boxes()
    boxes.fileType("isom")
    boxes.movie(
      formats, duration: durations.reduce(0) { $0 + UInt64($1) }, from: begin,
      tables: { table in
        table.runLengths("stts", durations)
        table.full("stss") { $0.list(keys) }
        table.full("stsc") {
          $0.put(UInt32(clamping: runs.count))
          for (index, run) in runs.enumerated() {
            $0.put(UInt32(clamping: index + 1), UInt32(clamping: run.count), UInt32(run.format + 1))
          }
        }
        table.full("stsz") {
          $0.put(UInt32(0))
          $0.list(sizes)
        }
        table.full("co64") {
          $0.put(UInt32(clamping: runs.count))
          var position = UInt64(offset)
          for run in runs {
            $0.put(position)
            position += UInt64(run.bytes)
          }
        }
      })
    // A 64-bit length.
    boxes.put(UInt32(1))
    boxes.put("mdat")
    boxes.put(UInt64(16 + runs.reduce(0) { $0 + $1.bytes }))
    return boxes.bytes
  }
}

extension MP4Boxes {
  fileprivate mutating func list(_ values: [UInt32]) {
    put(UInt32(clamping: values.count))
    for value in values { put(value) }
  }

  fileprivate mutating func runLengths(_ type: String, _ values: [UInt32]) {
    var runs: [(count: UInt32, value: UInt32)] = []
    for value in values {
      if runs.last?.value == value { runs[runs.count - 1].count += 1 } else { runs.append((1, value)) }
    }
    full(type) {
      $0.put(UInt32(clamping: runs.count))
      for run in runs { $0.put(run.count, run.value) }
    }
  }
}
