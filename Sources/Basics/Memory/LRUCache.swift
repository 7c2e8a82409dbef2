// A cache that evicts the least recently used values.

/// A dictionary limited by the number of values or by their total cost.
package struct LRUCache<Key: Hashable, Value> {
  private struct Entry {
    var value: Value
    var cost: Int
    var lastUse: Int
  }

  private let capacity: Int
  private let maximumCost: Int
  private var entries: [Key: Entry] = [:]
  private var uses = 0
  package private(set) var cost = 0

  /// Creates a cache. The newest value is kept whatever its cost.
  package init(capacity: Int, maximumCost: Int = .max) {
    self.capacity = capacity
    self.maximumCost = maximumCost
  }

  package var count: Int { entries.count }

  /// Returns the value of `key`, which becomes the most recently used; nil if there is none.
  package subscript(_ key: Key) -> Value? {
    mutating get {
      guard let index = entries.index(forKey: key) else { return nil }
      uses += 1
      entries.values[index].lastUse = uses
      return entries.values[index].value
    }
  }

  /// Inserts a value and evicts others until the limits are met.
  package mutating func insert(_ value: Value, for key: Key, cost: Int = 0) {
    hold(value, for: key, cost: cost)
    trim()
  }

  /// Inserts a value without evicting until `trim()`. While a picture is drawn, its bound objects must stay.
  package mutating func hold(_ value: Value, for key: Key, cost: Int = 0) {
    uses += 1
    let old = entries.updateValue(Entry(value: value, cost: cost, lastUse: uses), forKey: key)
    self.cost += cost - (old?.cost ?? 0)
  }

  /// Evicts the least recently used values until the limits are met.
  package mutating func trim() { trim { $0.isTooMuch } }

  /// Evicts all but the `count` most recently used values.
  package mutating func trim(to count: Int) { trim { $0.entries.count > count } }

  private mutating func trim(while isTooMuch: (Self) -> Bool) {
    while isTooMuch(self), let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      removeValue(for: oldest.key)
    }
  }

  package mutating func removeValue(for key: Key) { cost -= entries.removeValue(forKey: key)?.cost ?? 0 }

  package mutating func removeAll() { (entries, cost) = ([:], 0) }

  /// Removes the values for which `isUnwanted` is true.
  package mutating func removeAll(where isUnwanted: (Value) -> Bool) {
    for (key, entry) in entries where isUnwanted(entry.value) { removeValue(for: key) }
  }

  private var isTooMuch: Bool { entries.count > 1 && (entries.count > capacity || cost > maximumCost) }
}
