// The last pictures of a source, limited by bytes and by age. A value without I/O and without a clock.

/// Pictures in the order in which they arrived. Adding one copies no bytes and takes constant time.
///
/// Pictures form groups: a keyframe, and the pictures that depend on it. JPEGs and raw pictures are all
/// keyframes. Whole groups are evicted from the front, so that the first picture can always be decoded.
package struct ReplayRing<Content: Sendable>: Sendable {
  package struct Entry: Sendable {
    /// The number, as in the frames of the source's feed: each is larger than the one before.
    package var sequence = 0
    package let content: Content
    package let timestamp: CaptureInstant
    let byteCount: Int
    /// Whether it can be decoded without the pictures before it.
    package var isKey = true
  }

  /// The maximum age of a picture, counted back from the newest.
  let duration: Duration
  /// The most bytes of all pictures together. A single larger keyframe is stored alone.
  let maximumBytes: Int
  private(set) var byteCount = 0
  /// The pictures, from `head` on. Earlier slots are empty.
  private var slots: [Entry?] = []
  private var head = 0
  /// The index of the second group; nil while there is only one group.
  private var secondGroup: Int?
  /// Whether pictures are left out until the next keyframe, because they depend on one that is not stored.
  private var waitsForKey = true

  init(duration: Duration, maximumBytes: Int) {
    self.duration = duration
    self.maximumBytes = maximumBytes
  }

  var count: Int { slots.count - head }

  /// The number of slots, including empty ones.
  var slotCount: Int { slots.count }

  /// All pictures, oldest first.
  var entries: [Entry] { slots[head...].compactMap(\.self) }

  /// Adds a picture, then evicts by bytes, then by age.
  ///
  /// Bytes: groups are evicted from the front until the rest fits. If a picture does not fit beside its own
  /// group, neither it nor the pictures that depend on it are stored.
  ///
  /// Age: a group is evicted when the next group began at least `duration` before the new picture, so that a
  /// picture of that age is still stored. If timestamps jump in either direction, groups at that distance are
  /// evicted too.
  mutating func put(_ entry: Entry) {
    guard entry.isKey || !waitsForKey else { return }
    waitsForKey = false
    if entry.isKey, count > 0 { secondGroup = secondGroup ?? slots.count }
    slots.append(entry)
    byteCount += entry.byteCount
    evict(downTo: maximumBytes)
    while let second = secondGroup, let began = slots[second]?.timestamp {
      let age = entry.timestamp >= began ? entry.timestamp - began : began - entry.timestamp
      guard age >= duration else { break }
      removeFirstGroup()
    }
    compact()
  }

  /// Evicts until at most `limit` bytes are left. The newest picture stays if it is a keyframe.
  mutating func evict(downTo limit: Int) {
    while byteCount > limit, secondGroup != nil { removeFirstGroup() }
    guard byteCount > limit, let last = slots.last, let last, !last.isKey else { return }
    slots.removeLast()
    byteCount -= last.byteCount
    waitsForKey = true
  }

  mutating func removeAll() { self = ReplayRing(duration: duration, maximumBytes: maximumBytes) }

  // MARK: Looking up

  /// Returns the newest picture at or before `time`, in the order of arrival, preceded by those that it
  /// depends on; empty if there is none.
  func path(to time: CaptureInstant) -> [Entry] {
    index(at: time).map(path) ?? []
  }

  /// Returns the newest picture at or before `time`, without the pictures that it depends on.
  func newest(at time: CaptureInstant) -> Entry? { index(at: time).flatMap { slots[$0] } }

  /// Returns the last picture for which `isLater` is false, preceded by those that it depends on. Once
  /// `isLater` is true for a picture, it must be true for all that arrived after it.
  func path(beforeFirst isLater: (Entry) -> Bool) -> [Entry] {
    let end = firstIndex(where: isLater)
    return end > head ? path(to: end - 1) : []
  }

  /// Returns the pictures from the first one for which `isLater` is true. It must be true for all that
  /// arrived after that.
  func suffix(where isLater: (Entry) -> Bool) -> some Sequence<Entry> {
    slots[firstIndex(where: isLater)...].lazy.compactMap(\.self)
  }

  private func path(to index: Int) -> [Entry] {
    guard let key = slots[head...index].lastIndex(where: { $0?.isKey ?? false }) else { return [] }
    return slots[key...index].compactMap(\.self)
  }

  private func index(at time: CaptureInstant) -> Int? {
    slots[head...].lastIndex { $0.map { $0.timestamp <= time } ?? false }
  }

  /// Finds the index by bisection.
  private func firstIndex(where isLater: (Entry) -> Bool) -> Int {
    var (low, high) = (head, slots.count)
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].map(isLater) ?? false { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Returns the pictures within `times`, in the order of arrival.
  func pictures(in times: ClosedRange<CaptureInstant>) -> [Entry] {
    entries.filter { times.contains($0.timestamp) }
  }

  /// The earliest and the latest time of a picture; nil if there is none.
  var span: ClosedRange<CaptureInstant>? {
    var span: ClosedRange<CaptureInstant>?
    for time in slots[head...].lazy.compactMap({ $0?.timestamp }) {
      span = span.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
    }
    return span
  }

  // MARK: Evicting

  private mutating func removeFirstGroup() {
    guard let second = secondGroup else { return }
    for index in head..<second {
      byteCount -= slots[index]?.byteCount ?? 0
      slots[index] = nil
    }
    head = second
    secondGroup = slots[(second + 1)...].firstIndex { $0?.isKey ?? false }
  }

  /// Removes the empty slots once there are at least 16, and at least as many as used ones.
  private mutating func compact() {
    guard head >= 16, head >= count else { return }
    slots.removeFirst(head)
    secondGroup = secondGroup.map { $0 - head }
    head = 0
  }
}
