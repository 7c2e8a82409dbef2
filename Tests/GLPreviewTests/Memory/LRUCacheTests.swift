import Testing

@testable import GLPreview

@Suite("LRUCache")
struct LRUCacheTests {
  @Test("the least recently used values are evicted above the maximum count or cost")
  func order() {
    var cache = LRUCache<String, Int>(capacity: 3, maximumCost: 10)
    cache.insert(1, for: "a", cost: 1)
    cache.insert(2, for: "b", cost: 1)
    cache.insert(3, for: "c", cost: 1)
    #expect(cache["a"] == 1)

    cache.insert(4, for: "d", cost: 1)
    #expect(cache["b"] == nil && cache.count == 3 && cache.cost == 3)

    cache.insert(5, for: "e", cost: 9)
    #expect(cache["c"] == nil && cache["a"] == nil)
    #expect(cache["d"] == 4 && cache["e"] == 5 && cache.cost == 10)
  }

  @Test("a value above the maximum cost evicts all others and is kept")
  func large() {
    var cache = LRUCache<Int, String>(capacity: 3, maximumCost: 10)
    cache.insert("small", for: 1, cost: 5)
    cache.insert("large", for: 2, cost: 11)

    #expect(cache[1] == nil && cache[2] == "large" && cache.cost == 11)
  }

  @Test("inserting a value for an existing key replaces the old value and its cost")
  func replaced() {
    var cache = LRUCache<Int, String>(capacity: 3)
    cache.insert("old", for: 1, cost: 5)
    cache.insert("new", for: 1, cost: 2)

    #expect(cache[1] == "new" && cache.count == 1 && cache.cost == 2)
    cache.removeAll()
    #expect(cache[1] == nil && cache.count == 0 && cache.cost == 0)
  }

  @Test("held values may exceed the capacity until the cache is trimmed")
  func later() {
    var cache = LRUCache<Int, Int>(capacity: 2)
    for number in 0..<5 { cache.hold(number, for: number) }
    #expect(cache.count == 5)

    cache.trim()

    #expect(cache.count == 2 && cache[3] == 3 && cache[4] == 4)
  }
}
