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
  /// The duration of all samples but the last, whose duration is not known yet.
  private var duration = 0
  private var start: CaptureInstant?

  package var isEmpty: Bool { sizes.isEmpty }

  package init() {}

  package mutating func append(_ sample: VideoSample) {
    let start = start ?? sample.timestamp
    self.start = start
    append(
      byteCount: sample.bytes.count, isKey: sample.isKey, at: sample.timestamp.ticks(since: start),
      sample.format)
  }

  /// Appends a sample whose bytes are elsewhere, `ticks` of 1/90000 s after the first one.
  package mutating func append(byteCount: Int, isKey: Bool, at ticks: Int, _ format: H264Format) {
    if !sizes.isEmpty {
      // Counted from the start, so that rounding errors do not add up.
      let length = UInt32(clamping: max(ticks - duration, 1))
      durations.append(length)
      duration += Int(length)
    }
    sizes.append(UInt32(clamping: byteCount))
    if isKey { keys.append(UInt32(clamping: sizes.count)) }
    let index = formats.firstIndex(of: format) ?? formats.count
    if index == formats.count { formats.append(format) }
    if runs.last?.format != index { runs.append((index, 0, 0)) }
    runs[runs.count - 1].count += 1
    runs[runs.count - 1].bytes += byteCount
  }

  /// Returns everything that precedes the samples in a file. Players show it from `begin` on, if that is
  /// later than the first sample.
  package func head(lastDuration: Duration?, beginningAt begin: CaptureInstant? = nil) -> [UInt8] {
    let skipped = start.flatMap { start in begin?.ticks(since: start) } ?? 0
    let length = lastDuration.map { Int($0 / .seconds(1) * Double(videoTimescale)) }
    return head(lastTicks: length, beginningAt: skipped)
  }

  /// Returns everything that precedes the samples in a file, as `head(lastDuration:beginningAt:)` does, with
  /// times in ticks of 1/90000 s.
  package func head(lastTicks: Int?, beginningAt begin: Int) -> [UInt8] {
    let usual = self.durations.last ?? UInt32(videoTimescale / 30)
    let durations = self.durations + [max(lastTicks.map { UInt32(clamping: $0) } ?? usual, 1)]
    // The offsets do not change the head's length.
    let length = head(durations, from: begin, samplesAt: 0).count
    return head(durations, from: begin, samplesAt: length)
  }

  private func head(_ durations: [UInt32], from begin: Int, samplesAt offset: Int) -> [UInt8] {
    let total = durations.reduce(0) { $0 + UInt64($1) }
    // The edit list has 32 bits for the length, about 13 hours. Longer videos begin with their first sample.
    let isEdited = total <= UInt64(UInt32.max) + UInt64(max(begin, 0))
    var boxes = MP4Boxes()
    boxes.fileType("isom")
    boxes.movie(
      formats, duration: total, from: isEdited ? begin : 0,
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
