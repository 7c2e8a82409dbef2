// What is made only for those who come often, and is not made again and again for too many of them.

/// A cache that takes in what has been asked for often, and only in place of what is no longer used: more than it holds,
/// by turns, would otherwise evict one another before they are used again.
struct FrequentCache<Key: Hashable, Value> {
  private struct Entry {
    let value: Value
    var lastUse: Int
  }

  private let capacity: Int
  private let requests: Int
  private var entries: [Key: Entry] = [:]
  /// How often absent keys were asked for.
  private var counts = LRUCache<Key, Int>(capacity: 128)
  private var drawings = 0

  /// The drawings after which what was not used may go.
  static var patience: Int { 256 }

  /// - Parameters:
  ///   - capacity: the most values.
  ///   - requests: how often an absent value is asked for in vain.
  init(capacity: Int, after requests: Int) {
    self.capacity = capacity
    self.requests = requests
  }

  var count: Int { entries.count }

  /// Called between drawings.
  mutating func beginDrawing() { drawings += 1 }

  subscript(_ key: Key) -> Value? {
    mutating get {
      guard let index = entries.index(forKey: key) else { return nil }
      entries.values[index].lastUse = drawings
      return entries.values[index].value
    }
  }

  /// Called between drawings.
  mutating func removeAll() { entries = [:] }

  /// Whether an absent value should be made now. Counts the request.
  mutating func isWanted(_ key: Key) -> Bool {
    let count = counts[key] ?? 0
    counts.insert(count + 1, for: key)
    return count >= requests && (entries.count < capacity || unused != nil)
  }

  mutating func insert(_ value: Value, for key: Key) {
    if entries.count >= capacity, let unused { entries[unused] = nil }
    entries[key] = Entry(value: value, lastUse: drawings)
    counts.removeValue(for: key)
  }

  /// The least recently used, if it has not been used for long.
  private var unused: Key? {
    let oldest = entries.min { $0.value.lastUse < $1.value.lastUse }
    return oldest.flatMap { drawings - $0.value.lastUse > Self.patience ? $0.key : nil }
  }
}
