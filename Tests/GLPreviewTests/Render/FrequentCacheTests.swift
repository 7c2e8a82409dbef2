// Values are made for those who come often, and stay while they are used.
import Testing

@testable import GLPreview

@Suite struct FrequentCacheTests {
  @Test("a missing value is worth creating only after 2 earlier requests, and is found once inserted")
  func often() {
    var cache = FrequentCache<String, Int>(capacity: 2, after: 2)

    let wanted = [cache.isWanted("a"), cache.isWanted("a"), cache.isWanted("a")]
    cache.insert(1, for: "a")
    let values = ["a", "b"].map { cache[$0] }

    #expect(wanted == [false, false, true])
    #expect(values == [1, nil])
  }

  @Test("using more keys in turn than the capacity does not evict the first ones")
  func turns() {
    var cache = FrequentCache<Int, Int>(capacity: 3, after: 1)
    var made: [Int] = []

    for _ in 0..<1000 {
      cache.beginDrawing()
      for key in 0..<5 where cache[key] == nil && cache.isWanted(key) {
        cache.insert(key, for: key)
        made.append(key)
      }
    }

    #expect(made == [0, 1, 2])
  }

  @Test("a full cache admits a new value only in place of one that has long been unused")
  func unused() {
    var cache = FrequentCache<Int, Int>(capacity: 2, after: 0)
    cache.insert(0, for: 0)
    cache.beginDrawing()
    cache.insert(1, for: 1)

    for _ in 0..<FrequentCache<Int, Int>.idleDrawings { cache.beginDrawing() }
    let isWanted = cache.isWanted(2)
    cache.insert(2, for: 2)
    let values = [0, 1, 2].map { cache[$0] }
    let isNextWanted = cache.isWanted(3)

    #expect(isWanted && !isNextWanted)
    #expect(values == [nil, 1, 2])
  }
}
