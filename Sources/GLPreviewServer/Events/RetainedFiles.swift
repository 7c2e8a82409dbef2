// Which files of a folder are kept: what is known of them is enough to say so, without looking at the folder again. The wall
// clock may be wrong for a while, as on boards without a battery: no such hour decides what is removed.
internal import GLPreview

/// The files of a folder, in the order in which they go, and how many of them may stay.
///
/// First go files that were found at the start with a time in the future: their clock was wrong. Then the others that were
/// found, by their times; last what was written since, in the order of writing, whatever its times are. Ages grow by the
/// monotonic clock. The wall clock says how old a found file was at the start, and is believed
/// - after ten minutes, in which a machine's clock is set over the network;
/// - when it goes back, since then it was ahead before;
/// - when it jumps ahead only if it was behind the newest file before.
struct RetainedFiles: Sendable {
  /// One file.
  struct File: Sendable, Hashable {
    let name: SnapshotFileName
    let bytes: Int
  }

  private struct Entry: Sendable {
    let file: File
    /// By the monotonic clock; of files of this run.
    let written: Duration
  }

  /// Files from the front on; what was taken is forgotten now and then, not one by one: that would move all others.
  private struct Queue: Sendable {
    private(set) var entries: [Entry] = []
    private var taken = 0

    var count: Int { entries.count - taken }
    var first: Entry? { count > 0 ? entries[taken] : nil }
    var rest: ArraySlice<Entry> { entries[taken...] }

    init(_ entries: [Entry] = []) { self.entries = entries }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func removeFirst() {
      taken += 1
      guard taken > 1000, taken > entries.count / 2 else { return }
      entries.removeFirst(taken)
      taken = 0
    }
  }

  /// How long the wall clock may be wrong after the start before ages are taken from it.
  static let settlesWithin = Duration.seconds(600)
  /// A step of the wall clock that is one, and no correction of its speed.
  private static let smallestJump = Duration.seconds(60)

  private let limits: SnapshotFolderConfiguration
  /// When this run began, by both clocks: the wall clock's time is corrected where it turns out to have been wrong.
  private var start: WallTime
  private let monotonicStart: Duration
  private var ahead = Queue()
  private var found = Queue()
  private var written = Queue()
  private var bytes = 0
  private var newestFound: Substring = ""
  private var ignoredJump = false
  private var removedSoon = false
  /// What an operator should know, once each.
  private(set) var notices: [String] = []

  /// - Parameters:
  ///   - limits: how much is kept.
  ///   - now: the wall clock.
  ///   - time: the monotonic clock at the same moment.
  init(_ limits: SnapshotFolderConfiguration, now: WallTime, at time: Duration) {
    self.limits = limits
    start = now
    monotonicStart = time
  }

  /// Whether anything is ever too much.
  var isLimited: Bool {
    limits.maximumAge != nil || limits.maximumCount != nil || limits.maximumBytes != nil
  }

  /// How many there are.
  var count: Int { ahead.count + found.count + written.count }

  /// Takes in what an earlier run has left.
  mutating func add(_ files: [File]) {
    bytes += files.reduce(0) { $0 + $1.bytes }
    sort(ahead.rest + found.rest + files.map { Entry(file: $0, written: .zero) })
    if ahead.count > 0 {
      notices.append(
        "\(ahead.count) files of the snapshot folder have times in the future; they count as the oldest")
    }
  }

  /// Takes in one that was written just now.
  mutating func add(_ file: File, at time: Duration) {
    guard isLimited else { return }
    written.append(Entry(file: file, written: time))
    bytes += file.bytes
  }

  /// What has to go now, in that order; it is known no longer.
  ///
  /// - Parameters:
  ///   - now: the wall clock.
  ///   - time: the monotonic clock at the same moment.
  /// - Returns: files, the first to go first.
  mutating func removeExcess(now: WallTime, at time: Duration) -> [File] {
    follow(now, at: time)
    let elapsed = time - monotonicStart
    let age = limits.maximumAge
    let oldest = age.map { SnapshotFileName.stamp(WallTime(sinceEpoch: start.sinceEpoch + elapsed - $0)) }
    var removed: [File] = []
    func isTooMuch() -> Bool { count > limits.maximumCount ?? .max || bytes > limits.maximumBytes ?? .max }
    while let entry = ahead.first, isTooMuch() || age.map({ elapsed > $0 }) == true {
      ahead.removeFirst()
      removed.append(take(entry))
    }
    while let entry = found.first,
      isTooMuch() || elapsed >= Self.settlesWithin && oldest.map({ entry.file.name.stamp < $0 }) == true
    {
      found.removeFirst()
      removed.append(take(entry))
    }
    while let entry = written.first, isTooMuch() || age.map({ time - entry.written > $0 }) == true {
      written.removeFirst()
      removed.append(take(entry))
      if time - entry.written < .seconds(60), !removedSoon {
        removedSoon = true
        notices.append(
          "a snapshot was removed within a minute: max-count or max-bytes is small for how many are taken")
      }
    }
    return removed
  }

  /// The notices since the last call.
  mutating func takeNotices() -> [String] {
    defer { notices = [] }
    return notices
  }

  private mutating func take(_ entry: Entry) -> File {
    bytes -= entry.file.bytes
    return entry.file
  }

  /// Takes over what the wall clock says of the start of this run, where that may be believed.
  private mutating func follow(_ now: WallTime, at time: Duration) {
    let believed = WallTime(sinceEpoch: now.sinceEpoch - (time - monotonicStart))
    let jump = believed.sinceEpoch - start.sinceEpoch
    guard jump < .zero - Self.smallestJump || jump > Self.smallestJump else { return }
    let wasBehind = SnapshotFileName.stamp(start) < newestFound
    guard jump < .zero || wasBehind else {
      if !ignoredJump {
        notices.append("the clock has jumped ahead; the ages of snapshots go by the time that has passed")
      }
      ignoredJump = true
      return
    }
    start = believed
    ignoredJump = false
    sort(ahead.rest + found.rest)
  }

  private mutating func sort(_ entries: ArraySlice<Entry>) {
    let sorted = entries.sorted { $0.file.name.stamp < $1.file.name.stamp }
    let now = SnapshotFileName.stamp(WallTime(sinceEpoch: start.sinceEpoch + Self.smallestJump))
    ahead = Queue(sorted.filter { $0.file.name.stamp > now })
    found = Queue(sorted.filter { $0.file.name.stamp <= now })
    newestFound = sorted.last?.file.name.stamp ?? ""
  }
}
