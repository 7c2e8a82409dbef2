// Decides which files of a folder to keep without reading the folder again. The wall clock may be wrong for a
// while, as on boards without a battery-backed clock, and must not cause deletions during that time.
internal import NIOCore

/// The files of a folder in the order of deletion, and the limits.
///
/// Files found at the start with a time in the future are deleted first, because their clock was wrong. Then
/// follow the other files found, by their times, and last those written since, in the order of writing. Ages
/// grow by the monotonic clock. The wall clock only determines a found file's age at the start, and is
/// trusted
/// - after ten minutes, within which clocks are usually set over the network;
/// - if it goes back, because it was ahead before;
/// - if it jumps ahead, only if it was behind the newest file before.
package struct RetainedFiles: Sendable {
  package struct File: Sendable, Hashable {
    package let name: StampedFileName
    package let bytes: Int
  }

  private struct Entry: Sendable {
    let file: File
    /// The monotonic time of writing; for files of this run.
    let written: CaptureInstant
  }

  /// How long after the start the wall clock may be wrong.
  static let settlesWithin = Duration.seconds(600)
  /// The smallest change of the wall clock that counts as a jump and not as a gradual correction.
  private static let smallestJump = Duration.seconds(60)

  private let limits: FolderConfiguration
  /// The kind of files, for messages.
  private let kind: StampedFileName.Kind
  /// The start of this run by both clocks. The wall-clock time is corrected if it turns out to be wrong.
  private var start: WallTime
  private let monotonicStart: CaptureInstant
  private var ahead = CircularBuffer<Entry>()
  private var found = CircularBuffer<Entry>()
  private var written = CircularBuffer<Entry>()
  private var bytes = 0
  private var newestFound: Substring = ""
  private var ignoredJump = false
  private var removedSoon = false
  /// Notices for the operator, each given once.
  private(set) var notices: [String] = []

  /// `now` and `time` are the wall clock and the monotonic clock at the same moment.
  init(
    _ limits: FolderConfiguration, of kind: StampedFileName.Kind = .snapshot, now: WallTime,
    at time: CaptureInstant
  ) {
    self.limits = limits
    self.kind = kind
    start = now
    monotonicStart = time
  }

  /// Whether files may be removed: because of a limit, or, for recordings, because the disk is full.
  var isLimited: Bool {
    kind == .recording || limits.maximumAge != nil || limits.maximumCount != nil || limits.maximumBytes != nil
  }

  var count: Int { ahead.count + found.count + written.count }

  private func isTooMuch(besides open: Int) -> Bool {
    count > limits.maximumCount ?? .max || bytes + open > limits.maximumBytes ?? .max
  }

  /// Adds the files of earlier runs.
  mutating func add(_ files: [File]) {
    bytes += files.reduce(0) { $0 + $1.bytes }
    sort(Array(ahead) + Array(found) + files.map { Entry(file: $0, written: .start) })
    if ahead.count > 0 {
      notices.append(
        "\(ahead.count) files in the \(kind) folder have timestamps in the future; they count as the oldest")
    }
  }

  /// Adds a file that was just written.
  mutating func add(_ file: File, at time: CaptureInstant) {
    guard isLimited else { return }
    written.append(Entry(file: file, written: time))
    bytes += file.bytes
  }

  /// Removes and returns the files that exceed the limits, in the order of deletion. Unfinished files count
  /// with `open` more bytes. If it returns `most` files, there may be more to remove.
  mutating func removeExcess(
    now: WallTime, at time: CaptureInstant, besides open: Int = 0, atMost most: Int = .max
  ) -> [File] {
    follow(now, at: time)
    let elapsed = time - monotonicStart
    let age = limits.maximumAge
    let oldest = age.map { StampedFileName.stamp(WallTime(sinceEpoch: start.sinceEpoch + elapsed - $0)) }
    var removed: [File] = []
    while !ahead.isEmpty, removed.count < most,
      isTooMuch(besides: open) || age.map({ elapsed > $0 }) == true
    {
      removed.append(take(ahead.removeFirst()))
    }
    while let entry = found.first, removed.count < most,
      isTooMuch(besides: open)
        || elapsed >= Self.settlesWithin && oldest.map({ entry.file.name.stamp < $0 }) == true
    {
      removed.append(take(found.removeFirst()))
    }
    while let entry = written.first, removed.count < most,
      isTooMuch(besides: open) || age.map({ time - entry.written > $0 }) == true
    {
      removed.append(take(written.removeFirst()))
      if time - entry.written < .seconds(60), !removedSoon {
        removedSoon = true
        notices.append(
          "\(kind) removed after less than a minute: max-count or max-bytes is too small for the rate of \(kind)s"
        )
      }
    }
    return removed
  }

  /// Removes and returns the first file in the order of deletion; nil if there is none.
  mutating func removeOldest() -> File? {
    if !ahead.isEmpty { return take(ahead.removeFirst()) }
    if !found.isEmpty { return take(found.removeFirst()) }
    return written.isEmpty ? nil : take(written.removeFirst())
  }

  /// Removes a file that was deleted.
  mutating func remove(_ name: StampedFileName) {
    for path in [\Self.ahead, \.found, \.written] {
      guard let index = self[keyPath: path].firstIndex(where: { $0.file.name == name }) else { continue }
      _ = take(self[keyPath: path].remove(at: index))
    }
  }

  /// Returns the notices since the last call.
  mutating func takeNotices() -> [String] {
    defer { notices = [] }
    return notices
  }

  private mutating func take(_ entry: Entry) -> File {
    bytes -= entry.file.bytes
    return entry.file
  }

  /// Corrects the start of this run by the current wall clock, if that can be trusted.
  private mutating func follow(_ now: WallTime, at time: CaptureInstant) {
    let estimate = WallTime(sinceEpoch: now.sinceEpoch - (time - monotonicStart))
    let jump = estimate.sinceEpoch - start.sinceEpoch
    guard jump < .zero - Self.smallestJump || jump > Self.smallestJump else { return }
    let wasBehind = StampedFileName.stamp(start) < newestFound
    guard jump < .zero || wasBehind else {
      if !ignoredJump {
        notices.append("system clock jumped ahead: the ages of \(kind)s are computed from elapsed time")
      }
      ignoredJump = true
      return
    }
    start = estimate
    ignoredJump = false
    sort(Array(ahead) + Array(found))
  }

  private mutating func sort(_ entries: [Entry]) {
    let sorted = entries.sorted { $0.file.name.stamp < $1.file.name.stamp }
    let now = StampedFileName.stamp(WallTime(sinceEpoch: start.sinceEpoch + Self.smallestJump))
    ahead = CircularBuffer(sorted.filter { $0.file.name.stamp > now })
    found = CircularBuffer(sorted.filter { $0.file.name.stamp <= now })
    newestFound = sorted.last?.file.name.stamp ?? ""
  }
}
