// A recorded span as one MP4 file: a head of its own, and samples that stay in the recorded files. No I/O.
internal import HTTPTypes
internal import PreviewCore

/// The recorded pictures of a span as one MP4 file.
struct RecordedSpan: Sendable {
  /// A recording of which the file has pictures.
  struct Part: Sendable {
    let recording: Recording
    /// The time of the first picture that is shown.
    let start: WallTime
    /// The numbers of its pictures in the file.
    let pictures: Range<Int>
  }

  /// The beginning of the file. Everything else is samples.
  let head: [UInt8]
  /// In the order of time; at least one.
  let parts: [Part]
  /// How many times without a picture were cut out.
  let gaps: Int
  /// Identifies the bytes of the file.
  let entityTag: String
  fileprivate let samples: Samples
  fileprivate let lease: MemoryLease

  /// Where the samples are.
  fileprivate struct Samples: Sendable {
    /// Where each sample begins in its recording.
    var offsets: [Int] = []
    /// Where each sample ends in the file, counted from the end of the head.
    var ends: [Int] = []

    mutating func append(at offset: Int, byteCount: Int) {
      offsets.append(offset)
      ends.append((ends.last ?? 0) + byteCount)
    }
  }

  /// The size of the file.
  var byteCount: Int { head.count + (samples.ends.last ?? 0) }
  /// The time of the first picture that is shown.
  var start: WallTime { parts.first?.start ?? WallTime(sinceEpoch: .zero) }
  /// The bytes in memory.
  var memory: Int {
    let numbers = samples.offsets.capacity + samples.ends.capacity
    return head.capacity + numbers * MemoryLayout<Int>.stride + parts.count * MemoryLayout<Part>.stride
  }

  /// Returns where up to `count` bytes of the samples from `offset` on are: in which part, and where in its
  /// recording.
  ///
  /// - Parameters:
  ///   - offset: counted from the end of the head; less than the size of all samples.
  ///   - count: the most bytes. There are fewer at the end of a part.
  /// - Returns: the part's index, and ranges of the recorded file in their order.
  func place(of offset: Int, _ count: Int) -> (part: Int, ranges: [Range<Int>]) {
    var picture = Self.firstIndex(in: samples.ends.count) { samples.ends[$0] > offset }
    let part = Self.firstIndex(in: parts.count) { parts[$0].pictures.upperBound > picture }
    guard part < parts.count else { return (0, []) }
    var (ranges, position, left): ([Range<Int>], Int, Int) = ([], offset, count)
    while left > 0, picture < parts[part].pictures.upperBound {
      let begin = picture > 0 ? samples.ends[picture - 1] : 0
      let length = min(left, samples.ends[picture] - position)
      let first = samples.offsets[picture] + position - begin
      ranges.append(first..<first + length)
      (position, left, picture) = (position + length, left - length, picture + 1)
    }
    return (part, ranges)
  }

  /// Returns the first of `count` indices for which `isReached` is true, as it is for all later ones; `count`
  /// if there is none.
  private static func firstIndex(in count: Int, where isReached: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isReached(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// Collects the pictures of a span from its recordings, in the order of time.
struct RecordedSpanBuilder {
  /// The limits of a file.
  struct Limits: Sendable, Hashable {
    var pictures = 4_000_000
    var bytes = 64 << 30
  }

  private let from, to: WallTime
  private let limits: Limits
  private var tables = MP4Tables()
  private var samples = RecordedSpan.Samples()
  private var parts: [RecordedSpan.Part] = []
  private var gaps = 0
  /// How many times consecutive pictures of one format begin.
  private var chunks = 0
  private var size: Size?
  private var last: Last?
  /// Where the first picture that is shown begins, in ticks.
  private var begin = 0
  /// Everything that determines the bytes of the file.
  private var identity = ""

  /// The last picture so far.
  private struct Last {
    /// The first picture of its recording.
    let start: WallTime
    /// Its time since then, its time in the file, and its duration, in ticks.
    let ticks, position, duration: Int
  }

  /// A picture this much later than `from` still counts as the one at `from`, because times in URLs are
  /// rounded.
  static let drift = Duration.milliseconds(2)
  /// Longer times without a picture between two recordings are cut out: a second, in ticks.
  private static let longestPause = videoTimescale

  /// Creates a span that begins with the picture that is the newest one at `from`, and ends before `to`.
  init(from: WallTime, to: WallTime, within limits: Limits = Limits()) {
    (self.from, self.to, self.limits) = (from, to, limits)
  }

  /// The number of pictures so far.
  var count: Int { samples.ends.count }

  /// The most bytes that each picture takes while the file is prepared: two numbers of 8 bytes and three of 4
  /// in arrays of up to twice the capacity, 4 in a copy of the durations, and 16 in the head, which is copied
  /// to twice its capacity while it grows.
  private static let bytesPerPicture = 2 * (2 * 8 + 3 * 4) + 4 + 3 * 16
  /// The most bytes that consecutive pictures of one format take together: three numbers of 8 bytes, and 20 bytes in the head.
  private static let bytesPerChunk = 2 * 3 * 8 + 3 * 20

  /// The most bytes that the file takes while it is prepared.
  var memory: Int {
    count * Self.bytesPerPicture + chunks * Self.bytesPerChunk + 2 * identity.utf8.count
      + parts.capacity * MemoryLayout<RecordedSpan.Part>.stride
  }

  /// Returns the most bytes that the file takes while it is prepared, with the pictures of a further
  /// recording.
  func memory(with recording: Recording, _ index: MP4Index) -> Int {
    guard let (range, _) = pictures(of: recording, index) else { return memory }
    let added = Self.chunkCount(index.pictures[range])
    return memory + range.count * Self.bytesPerPicture + added * Self.bytesPerChunk
  }

  /// Returns how many times consecutive pictures of one format begin.
  private static func chunkCount(_ pictures: ArraySlice<MP4Index.Picture>) -> Int {
    1 + zip(pictures, pictures.dropFirst()).count { $0.0.format != $0.1.format }
  }

  /// Returns the recordings that may have pictures of a span: those that begin in it, and the last one before
  /// it. `recordings` are those of a view that begin before the end of the span, in the order of time.
  static func relevant(_ recordings: [Recording], from: WallTime) -> ArraySlice<Recording> {
    let latest = WallTime(sinceEpoch: from.sinceEpoch + drift)
    return recordings[(recordings.lastIndex { $0.firstTime <= latest } ?? 0)...]
  }

  /// Appends the pictures of a recording that are in the span.
  ///
  /// - Throws: `Problem`: 409 if the size of the pictures changes, 400 above a limit, 500 if the recording is
  ///   damaged.
  mutating func append(_ recording: Recording, _ index: MP4Index) throws(Problem) {
    guard let (range, shown) = self.pictures(of: recording, index) else { return }
    let (start, pictures) = (recording.firstTime, index.pictures)
    let (key, end) = (range.lowerBound, range.upperBound)
    let next = end < pictures.count ? pictures[end].ticks : index.length
    let duration = min(next, Self.ticks(from: start, to: to)) - pictures[end - 1].ticks
    let position = takePosition(of: pictures[key].ticks, since: start)
    if parts.isEmpty { begin = pictures[shown].ticks - pictures[key].ticks }
    let formats = index.formats.map(\.h264)
    let count = self.count
    chunks += Self.chunkCount(pictures[range])
    for number in range {
      let picture = pictures[number]
      guard let format = formats[picture.format] else {
        let time = Self.time(of: picture, since: start)
        throw Problem(.internalServerError, "the recording at \(time) is damaged")
      }
      guard size == nil || size == format.size else {
        throw changed(to: format.size, at: Self.time(of: picture, since: start))
      }
      size = format.size
      samples.append(at: picture.offset, byteCount: picture.byteCount)
      guard self.count <= limits.pictures, (samples.ends.last ?? 0) <= limits.bytes else {
        throw tooLarge(until: Self.time(of: picture, since: start))
      }
      tables.append(
        byteCount: picture.byteCount, isKey: picture.isKey,
        at: position + picture.ticks - pictures[key].ticks, format)
    }
    let lastTicks = pictures[end - 1].ticks
    last = Last(
      start: start, ticks: lastTicks, position: position + lastTicks - pictures[key].ticks,
      duration: max(duration, 1))
    parts.append(
      RecordedSpan.Part(
        recording: recording, start: Self.time(of: pictures[shown], since: start),
        pictures: count..<self.count))
    identity += "\(recording.path) \(start.secondsText) \(key)-\(end)\n"
  }

  /// Returns which pictures of a recording the file has, from a keyframe on, and the first one that is shown;
  /// nil if there are none.
  private func pictures(of recording: Recording, _ index: MP4Index) -> (all: Range<Int>, shown: Int)? {
    let start = recording.firstTime
    let end = (index.picture(at: Self.ticks(from: start, to: to) - 1) ?? -1) + 1
    guard let first = firstPicture(of: index, since: start, before: end), first < end else { return nil }
    // Decoding begins at a keyframe. Only a damaged recording has none before a picture.
    let key = index.keyframe(at: first) ?? index.pictures[first..<end].firstIndex { $0.isKey }
    guard let key else { return nil }
    return (all: key..<end, shown: max(first, key))
  }

  /// Returns the number of a recording's first picture in the span; nil if there is none.
  private func firstPicture(of index: MP4Index, since start: WallTime, before end: Int) -> Int? {
    let ticks = Self.ticks(from: start, to: from)
    guard ticks > 0 else { return index.pictures.isEmpty ? nil : 0 }
    let next = (index.picture(at: ticks - 1) ?? -1) + 1
    if next < end, index.pictures[next].ticks <= Self.ticks(from: start, to: from, plus: Self.drift) {
      return next
    }
    // The last picture is shown until the end of the recording.
    return next < index.pictures.count || index.length > ticks ? max(next - 1, 0) : nil
  }

  /// Returns the position in the file of a recording's first picture, at `ticks` since `start`. Counts a gap.
  private mutating func takePosition(of ticks: Int, since start: WallTime) -> Int {
    guard let last else { return 0 }
    let distance = Self.ticks(from: last.start, to: start) + ticks - last.ticks
    let isGap = distance - last.duration > Self.longestPause
    gaps += isGap ? 1 : 0
    // After the clock was set back, recordings overlap, and follow each other.
    return last.position + (isGap || distance <= 0 ? last.duration : distance)
  }

  /// Returns the file; nil if it has no picture. `lease` becomes the memory of the file.
  ///
  /// - Throws: `MemoryBudget.Exceeded`.
  func finish(holding lease: MemoryLease) throws(MemoryBudget.Exceeded) -> RecordedSpan? {
    guard let last else { return nil }
    let head = tables.head(lastTicks: last.duration, beginningAt: begin)
    let text = "\(identity)\(begin) \(last.duration)"
    let span = RecordedSpan(
      head: head, parts: parts, gaps: gaps, entityTag: "\"\(Digest.name(of: Array(text.utf8)))\"",
      samples: samples, lease: lease)
    try lease.resize(to: span.memory)
    return span
  }

  private func changed(to new: Size, at time: WallTime) -> Problem {
    let old = size.map { "\($0)" } ?? "another"
    return Problem(
      .conflict,
      "the size of the pictures changes from \(old) to \(new) at \(time): request one file with to=\(time), and one with from=\(time)"
    )
  }

  private func tooLarge(until time: WallTime) -> Problem {
    .badParameter(
      "to",
      "a file has at most \(limits.pictures) pictures and \(limits.bytes) bytes, and this span has more: set to=\(time) or earlier"
    )
  }

  // MARK: Times

  /// Returns the ticks of 1/90000 s from one time to another.
  private static func ticks(from start: WallTime, to end: WallTime, plus more: Duration = .zero) -> Int {
    let seconds = (end.sinceEpoch - start.sinceEpoch + more) / .seconds(1)
    return Int((seconds * Double(videoTimescale)).rounded())
  }

  private static func time(of picture: MP4Index.Picture, since start: WallTime) -> WallTime {
    WallTime(sinceEpoch: start.sinceEpoch + .microseconds(picture.ticks * 100 / 9))
  }
}

extension Recording {
  /// The time of its first picture, as exactly as it is known.
  var firstTime: WallTime { firstPicture ?? start }
}
