// A cache for values that are only worth making if they are used often.

/// A cache that admits a value only after several requests, and only in place of a value that is no longer
/// used. If more keys than it holds were used in turn, they would otherwise evict one another before they are
/// used again.
struct FrequentCache<Key: Hashable, Value> {
  private struct Entry {
    let value: Value
    var lastUse: Int
  }

  private let capacity: Int
  private let requests: Int
  private var entries: [Key: Entry] = [:]
  /// How often absent keys were requested.
  private var counts = LRUCache<Key, Int>(capacity: 128)
  private var drawings = 0

  /// The number of drawings after which an unused value may be evicted.
  static var idleDrawings: Int { 256 }

  /// - Parameters:
  ///   - capacity: the most values.
  ///   - requests: how many requests for an absent value are refused first.
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
    return oldest.flatMap { drawings - $0.value.lastUse > Self.idleDrawings ? $0.key : nil }
  }
}
