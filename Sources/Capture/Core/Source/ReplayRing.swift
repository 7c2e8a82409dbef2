// The last pictures of a source, bounded by bytes and by age. A value without I/O and without a clock.

/// Pictures in the order in which they arrived. Adding one copies no bytes and takes constant time.
///
/// It holds groups: a key picture, and the pictures that rest on it. JPEGs and raw pictures are all key pictures. Whole
/// groups are evicted from the front, so that the first picture can always be decoded.
package struct ReplayRing<Content: Sendable>: Sendable {
  package struct Entry: Sendable {
    /// As of the frames of the source's feed: each is larger than the one before.
    package var sequence = 0
    package let content: Content
    package let timestamp: CaptureInstant
    let byteCount: Int
    /// Whether it can be decoded without the pictures before it.
    package var isKey = true
  }

  /// The age that a picture may have, counted from the newest.
  let duration: Duration
  /// The most bytes of all pictures. One that is larger is kept alone.
  let maximumBytes: Int
  private(set) var byteCount = 0
  /// From `head` on; those before it are gone.
  private var slots: [Entry?] = []
  private var head = 0
  /// Where the second group begins; nil while there is only one.
  private var secondGroup: Int?
  /// Whether pictures are left out until the next key picture, because they rest on one that is not kept.
  private var waitsForKey = true

  init(duration: Duration, maximumBytes: Int) {
    self.duration = duration
    self.maximumBytes = maximumBytes
  }

  var count: Int { slots.count - head }

  /// The places of pictures, of which some are empty.
  var slotCount: Int { slots.count }

  /// All pictures, the first one first.
  var entries: [Entry] { slots[head...].compactMap(\.self) }

  /// Adds a picture, then evicts by bytes, then by age.
  ///
  /// Bytes: groups go from the front until the rest has room. A picture for which its own group leaves no room is not
  /// kept, nor those that rest on it.
  ///
  /// Age: groups go while the one after them began `duration` before the picture or earlier, so that the picture of that
  /// moment is still there. If timestamps jump, in either direction, what is as far away as that goes too.
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

  /// Evicts until `limit` bytes are left. The newest picture stays if it is a key picture.
  mutating func evict(downTo limit: Int) {
    while byteCount > limit, secondGroup != nil { removeFirstGroup() }
    guard byteCount > limit, let last = slots.last, let last, !last.isKey else { return }
    slots.removeLast()
    byteCount -= last.byteCount
    waitsForKey = true
  }

  mutating func removeAll() { self = ReplayRing(duration: duration, maximumBytes: maximumBytes) }

  // MARK: Looking up

  /// The newest picture at `time` or before, in the order of arrival, preceded by those that it rests on; empty if none
  /// is kept.
  func path(to time: CaptureInstant) -> [Entry] {
    index(at: time).map(path) ?? []
  }

  /// The last of it.
  func newest(at time: CaptureInstant) -> Entry? { index(at: time).flatMap { slots[$0] } }

  /// The last picture for which `isLater` does not hold, preceded by those that it rests on. It must hold for all that
  /// came after one for which it holds.
  func path(beforeFirst isLater: (Entry) -> Bool) -> [Entry] {
    let end = firstIndex(where: isLater)
    return end > head ? path(to: end - 1) : []
  }

  /// The pictures from the first one on for which `isLater` holds, as it must for all that came after that.
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

  /// Bisects.
  private func firstIndex(where isLater: (Entry) -> Bool) -> Int {
    var (low, high) = (head, slots.count)
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].map(isLater) ?? false { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The pictures within `times`, in the order of arrival.
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

  /// Removes the empty slots once they are as many as the others.
  private mutating func compact() {
    guard head >= 16, head >= count else { return }
    slots.removeFirst(head)
    secondGroup = secondGroup.map { $0 - head }
    head = 0
  }
}
