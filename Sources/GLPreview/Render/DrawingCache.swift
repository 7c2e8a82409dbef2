// Caches objects that drawings make once and use again: programs, tables, geometries, bitmaps.

/// The least recently used values are evicted between drawings, because the objects bound by a drawing must
/// stay until it ends.
final class DrawingCache<Key: Hashable, Value, Failure: Error> {
  private var values: LRUCache<Key, Value>
  private let make: (Key) throws(Failure) -> Value
  private let cost: (Value) -> Int

  init(
    capacity: Int, maximumCost: Int = .max, make: @escaping (Key) throws(Failure) -> Value,
    cost: @escaping (Value) -> Int = { _ in 0 }
  ) {
    values = LRUCache(capacity: capacity, maximumCost: maximumCost)
    self.make = make
    self.cost = cost
  }

  /// Returns the value of `key`, and makes it if there is none.
  func value(of key: Key) throws(Failure) -> Value {
    if let value = values[key] { return value }
    let value = try make(key)
    values.hold(value, for: key, cost: cost(value))
    return value
  }

  var count: Int { values.count }

  /// The sum of the values' costs.
  var totalCost: Int { values.cost }

  /// Called between drawings.
  func trim() { values.trim() }

  /// Evicts all but the most recently used values. Called between drawings.
  func trim(to count: Int) { values.trim(to: count) }

  /// Called between drawings.
  func removeAll() { values.removeAll() }
}

/// An OpenGL object with several owners.
final class Shared<Object: ~Copyable> {
  let object: Object

  init(_ object: consuming Object) { self.object = object }
}
