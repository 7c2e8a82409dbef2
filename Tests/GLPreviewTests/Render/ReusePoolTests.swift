// What drawings keep for the next one.
import Testing

@testable import GLPreview

@Suite("ReusePool")
struct ReusePoolTests {
  private func stock() -> ReusePool<String, Int> { ReusePool(mostCount: 2, mostBytes: 100) }

  @Test("all values used by one drawing are kept for the next, even above the limits")
  func lastDrawing() {
    var stock = stock()
    for round in 0..<3 {
      stock.beginDrawing()
      for key in ["a", "b", "c"] {
        #expect((stock.take(key) == nil) == (round == 0))
        stock.put(round, key, byteCount: 1000)
      }
    }

    #expect(stock.byteCount == 3000)
    #expect(stock.take("b") == 2)
    #expect(stock.take("b") == nil)
  }

  @Test("values unused by the last drawing are evicted above the limits, least recently used first")
  func older() {
    var stock = stock()
    for (key, byteCount) in [("a", 10), ("b", 10), ("c", 10), ("large", 90)] {
      stock.beginDrawing()
      stock.put(0, key, byteCount: byteCount)
    }

    // Three are too many, and with the large one they have too many bytes; that was used last.
    stock.beginDrawing()
    #expect(stock.byteCount == 100)
    #expect(stock.take("c") == 0)

    stock.put(0, "c", byteCount: 10)
    stock.beginDrawing()
    stock.beginDrawing()
    #expect(stock.byteCount == 100)

    stock.put(0, "d", byteCount: 10)
    stock.beginDrawing()
    #expect(stock.take("large") == nil)

    stock.removeAll()
    #expect(stock.byteCount == 0)
  }
}
