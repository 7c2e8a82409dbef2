// The recordings in a folder, in the order of time. It does no I/O.

/// The recordings of a folder, sorted by their names, which begin with their times.
struct RecordingCatalogue: Sendable {
  private(set) var recordings: [Recording] = []
  /// The number of recordings of each camera that has any. Clients ask for cameras by any name.
  private var counts: [String: Int] = [:]

  private struct View: Hashable {
    let camera: String
    let view: Substring

    init(_ name: StampedFileName) { (camera, view) = (name.camera, name.view) }
  }

  /// A recording by its name; nil removes it.
  subscript(name: StampedFileName) -> Recording? {
    get {
      let place = place(of: name)
      return place < recordings.count && recordings[place].name == name ? recordings[place] : nil
    }
    set {
      let place = place(of: name)
      let isThere = place < recordings.count && recordings[place].name == name
      switch (isThere, newValue) {
      case (true, let new?):
        if new.camera != recordings[place].camera {
          count(recordings[place], by: -1)
          count(new, by: 1)
        }
        recordings[place] = new
      case (true, nil): count(recordings.remove(at: place), by: -1)
      case (false, let new?):
        recordings.insert(new, at: place)
        count(new, by: 1)
      case (false, nil): break
      }
    }
  }

  private mutating func count(_ recording: Recording, by change: Int) {
    let count = counts[recording.camera, default: 0] + change
    counts[recording.camera] = count > 0 ? count : nil
  }

  private mutating func countAll() {
    counts = recordings.reduce(into: [:]) { $0[$1.camera, default: 0] += 1 }
  }

  /// The number of recordings of a camera.
  func count(of camera: String) -> Int { counts[camera] ?? 0 }

  private func place(of name: StampedFileName) -> Int { count { $0 < name } }

  /// The number of recordings at the start of the order for which `isBefore` is true.
  private func count(before isBefore: (StampedFileName) -> Bool) -> Int {
    var (low, high) = (0, recordings.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(recordings[middle].name) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Adds files of earlier runs, of which only the names and the sizes are known.
  ///
  /// - Returns: the two newest of each view, of which one may be unfinished, and the others, the newest last.
  mutating func add(_ files: [RetainedFiles.File]) -> (newest: [StampedFileName], others: [StampedFileName]) {
    let known = Set(recordings.map(\.name))
    let new = files.filter { !known.contains($0.name) }.map { Recording($0.name, bytes: $0.bytes) }
    recordings = (recordings + new).sorted { $0.name < $1.name }
    countAll()
    var (counts, newest, others): ([View: Int], [StampedFileName], [StampedFileName]) = ([:], [], [])
    for recording in recordings.reversed() where recording.isUnknown {
      counts[View(recording.name), default: 0] += 1
      if counts[View(recording.name), default: 0] <= 2 {
        newest.append(recording.name)
      } else {
        others.append(recording.name)
      }
    }
    return (newest, others.reversed())
  }

  mutating func remove(_ names: [StampedFileName]) {
    if names.count < 10 { return names.forEach { self[$0] = nil } }
    let names = Set(names)
    recordings.removeAll { names.contains($0.name) }
    countAll()
  }

  /// Removes all recordings except those that are being written.
  mutating func removeAllWritten() {
    recordings.removeAll { !$0.isOpen }
    countAll()
  }

  /// Longer than any recording: a file ends with the first keyframe after a day at most.
  private static let longest = Duration.seconds(2 * 86_400)

  /// The wanted recordings that overlap a span, the newest first. A recording ends at the latest when the
  /// next one of its view begins.
  func list(
    of camera: String?, from: WallTime?, to: WallTime?, limit: Int,
    where isWanted: (Recording) -> Bool = { _ in true }
  ) -> [Recording] {
    if let camera, counts[camera] == nil { return [] }
    let (first, last) = (from.map(StampedFileName.stamp), to.map(StampedFileName.stamp))
    var found: [Recording] = []
    var earlier: Set<View> = []
    // Of very many recordings, only those that may overlap the span are examined.
    let begin = from.map { StampedFileName.stamp(WallTime(sinceEpoch: $0.sinceEpoch - Self.longest)) }
    let low = begin.map { begin in count { $0.stamp < begin } } ?? 0
    let high = last.map { last in count { $0.stamp <= last } } ?? recordings.count
    for recording in recordings[low..<max(low, high)].reversed() {
      guard found.count < limit else { break }
      guard camera == nil || recording.camera == camera else { continue }
      if let first, recording.name.stamp < first {
        // Of those that began before the span and whose end is not known, only the last one of each view may
        // reach into it. Others may overlap: the clock may have been set back.
        let isLast = earlier.insert(View(recording.name)).inserted
        guard recording.end.map({ $0 >= from ?? $0 }) ?? isLast else { continue }
      }
      if isWanted(recording) { found.append(recording) }
    }
    return found
  }

  /// The wanted recordings of a camera next to a time: the last that begins at or before it, and the first
  /// that begins after it.
  func around(
    _ time: WallTime, of camera: String, where isWanted: (Recording) -> Bool
  ) -> (before: Recording?, after: Recording?) {
    guard counts[camera] != nil else { return (nil, nil) }
    let stamp = StampedFileName.stamp(time)
    let place = count { $0.stamp <= stamp }
    func isOne(_ recording: Recording) -> Bool { recording.camera == camera && isWanted(recording) }
    return (recordings[..<place].last(where: isOne), recordings[place...].first(where: isOne))
  }
}
