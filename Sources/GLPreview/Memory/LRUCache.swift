// What was made and may be wanted again: as much as there is room for, the least recently used goes first.

/// A table with room for a number of values, or for values of a total cost.
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
  /// The cost of all values.
  package private(set) var cost = 0

  /// - Parameters:
  ///   - capacity: how many values are kept.
  ///   - maximumCost: how much they may cost together; the newest is kept whatever it costs.
  package init(capacity: Int, maximumCost: Int = .max) {
    self.capacity = capacity
    self.maximumCost = maximumCost
  }

  package var count: Int { entries.count }

  /// The value of `key`, which is now the most recently used; nil where there is none.
  package subscript(_ key: Key) -> Value? {
    mutating get {
      guard let index = entries.index(forKey: key) else { return nil }
      uses += 1
      entries.values[index].lastUse = uses
      return entries.values[index].value
    }
  }

  /// Keeps a value. Removes others only if `trims`: an owner whose values are in use trims later.
  package mutating func insert(_ value: Value, for key: Key, cost: Int = 0, trims: Bool = true) {
    uses += 1
    let old = entries.updateValue(Entry(value: value, cost: cost, lastUse: uses), forKey: key)
    self.cost += cost - (old?.cost ?? 0)
    if trims { trim() }
  }

  /// Removes the least recently used values until the others fit.
  package mutating func trim() {
    guard isTooMuch else { return }
    for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where isTooMuch {
      entries[key] = nil
      cost -= entry.cost
    }
  }

  package mutating func removeAll() { (entries, cost) = ([:], 0) }

  private var isTooMuch: Bool { entries.count > 1 && (entries.count > capacity || cost > maximumCost) }
}
