// Which files of a folder are kept: what is known of them is enough to say so, without looking at the folder again.
internal import GLPreview

/// The files of a folder, oldest first, and how many of them may stay.
struct RetainedFiles: Sendable {
  /// One file.
  struct File: Sendable, Hashable {
    let name: SnapshotFileName
    let bytes: Int
  }

  private let limits: SnapshotFolderConfiguration
  private var files: [File] = []
  /// Those before it are gone.
  private var first = 0
  private var bytes = 0

  init(_ limits: SnapshotFolderConfiguration) { self.limits = limits }

  /// Whether anything is ever too much.
  var isLimited: Bool {
    limits.maximumAge != nil || limits.maximumCount != nil || limits.maximumBytes != nil
  }

  /// How many there are.
  var count: Int { files.count - first }

  /// Takes in many at once.
  mutating func add(_ found: [File]) {
    files = (files[first...] + found).sorted { $0.name.stamp < $1.name.stamp }
    first = 0
    bytes = files.reduce(0) { $0 + $1.bytes }
  }

  /// Takes in one; mostly the newest.
  mutating func add(_ file: File) {
    guard isLimited else { return }
    var index = files.endIndex
    while index > first, files[index - 1].name.stamp > file.name.stamp { index -= 1 }
    files.insert(file, at: index)
    bytes += file.bytes
  }

  /// What has to go now, oldest first; it is known no longer.
  mutating func removeExcess(now: WallTime) -> [File] {
    let oldest = limits.maximumAge.map {
      SnapshotFileName.stamp(WallTime(sinceEpoch: now.sinceEpoch - $0))
    }
    var removed: [File] = []
    while first < files.count {
      let file = files[first]
      let isOld = oldest.map { file.name.stamp < $0 } ?? false
      guard isOld || count > limits.maximumCount ?? .max || bytes > limits.maximumBytes ?? .max else { break }
      removed.append(file)
      first += 1
      bytes -= file.bytes
    }
    // Not one by one: that would move all others each time.
    if first > 1000, first > files.count / 2 {
      files.removeFirst(first)
      first = 0
    }
    return removed
  }
}
