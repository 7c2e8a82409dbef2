// What drawings make once and use again: programs, tables, geometries, bitmaps.

/// The least recently used values go between drawings, because while one draws, its bound objects must stay.
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

  /// The value of `key`, made now if there is none.
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

/// An object of OpenGL that several others hold.
final class Shared<Object: ~Copyable> {
  let object: Object

  init(_ object: consuming Object) { self.object = object }
}
