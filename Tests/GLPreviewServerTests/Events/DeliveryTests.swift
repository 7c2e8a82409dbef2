// Messages that wait for a server: in which order they are sent, and which are dropped.
import AsyncHTTPClient
import GLPreview
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Waiting deliveries")
struct DeliveryTests {
  private static func delivery(
    _ id: String, order: String? = nil, holding lease: MemoryLease? = nil
  ) -> Delivery {
    Delivery(id: id, order: order ?? id, holding: lease) { HTTPClientRequest(url: "http://127.0.0.1/") }
  }

  private static func waiting(_ deliveries: [Delivery]) -> WaitingDeliveries {
    var waiting = WaitingDeliveries()
    for delivery in deliveries { _ = waiting.add(delivery, capacity: 100, mostBytes: .max) }
    return waiting
  }

  @Test("the oldest message comes first whose order no other message has that is being sent")
  func order() throws {
    var waiting = Self.waiting(
      ["a1", "a2", "b1", "a3", "b2", "c1"].map { Self.delivery($0, order: String($0.prefix(1))) })
    let first = waiting.take()
    #expect(first?.id == "a1" && waiting.count == 5)
    let second = waiting.take()
    let third = waiting.take()
    #expect(second?.id == "b1" && third?.id == "c1")
    #expect(waiting.take()?.id == nil && waiting.count == 3)

    waiting.finish(try #require(second))
    #expect(waiting.take()?.id == "b2" && waiting.take()?.id == nil)
    waiting.finish(try #require(first))
    #expect(waiting.take()?.id == "a2" && waiting.take()?.id == nil)
    #expect(waiting.count == 1)
  }

  @Test("above the capacity the oldest messages are dropped")
  func capacity() {
    var waiting = WaitingDeliveries()
    #expect(
      (1...5).map { waiting.add(Self.delivery("\($0)"), capacity: 3, mostBytes: .max) } == [0, 0, 0, 1, 1])
    #expect(waiting.take()?.id == "3" && waiting.count == 2)
    #expect(waiting.removeAll() == 2 && waiting.count == 0 && waiting.take()?.id == nil)
  }

  @Test("above the bytes the oldest messages are dropped, but never the newest")
  func bytes() throws {
    let budget = MemoryBudget(capacity: 1000)
    var waiting = WaitingDeliveries()
    func add(_ id: String, _ byteCount: Int) throws -> Int {
      let delivery = Self.delivery(id, holding: try budget.reserve(byteCount))
      return waiting.add(delivery, capacity: 100, mostBytes: 100)
    }
    #expect(try [add("1", 40), add("2", 60), add("3", 20)] == [0, 0, 1])
    #expect(waiting.byteCount == 80 && budget.reserved == 80)
    #expect(try add("4", 500) == 2)
    #expect(waiting.byteCount == 500 && waiting.count == 1 && budget.reserved == 500)
    #expect(try add("5", 10) == 1)
    #expect(waiting.byteCount == 10 && budget.reserved == 10)
    // A message without a lease counts as nothing.
    #expect(waiting.add(Self.delivery("6"), capacity: 100, mostBytes: 100) == 0)
  }

  @Test("messages that share a lease above the bytes all wait, and the next message drops them")
  func sharedAboveBytes() throws {
    let budget = MemoryBudget(capacity: 1000)
    var waiting = WaitingDeliveries()
    func add(_ id: String, _ lease: MemoryLease, capacity: Int = 100) -> Int {
      waiting.add(Self.delivery(id, holding: lease), capacity: capacity, mostBytes: 100)
    }
    let (small, large) = (try budget.reserve(40), try budget.reserve(500))
    #expect(add("1", small) == 0)
    #expect(add("2", large) == 1)
    #expect(add("3", small) == 1)
    #expect(add("4", large) == 1)
    #expect(add("5", large) == 0)
    #expect(waiting.count == 2 && waiting.byteCount == 500)
    #expect(waiting.take()?.id == "4" && waiting.byteCount == 500)
    #expect(add("6", small) == 1)
    #expect(waiting.count == 1 && waiting.byteCount == 40)
    // The capacity holds for all.
    #expect(add("7", large) == 1)
    #expect(add("8", large, capacity: 1) == 1)
    #expect(waiting.take()?.id == "8" && waiting.count == 0 && waiting.byteCount == 0)
  }

  @Test("a lease that several messages share counts once, until none of them waits")
  func shared() throws {
    let budget = MemoryBudget(capacity: 1000)
    var waiting = WaitingDeliveries()
    do {
      let lease = try budget.reserve(60)
      for id in ["1", "2"] {
        #expect(waiting.add(Self.delivery(id, holding: lease), capacity: 100, mostBytes: 100) == 0)
      }
    }
    #expect(waiting.byteCount == 60 && budget.reserved == 60)
    var sent = waiting.take()
    #expect(sent?.id == "1" && waiting.byteCount == 60)
    // The other one must go for its bytes, which remain reserved while the first is being sent.
    let other = Self.delivery("3", holding: try budget.reserve(50))
    #expect(waiting.add(other, capacity: 100, mostBytes: 100) == 1)
    #expect(waiting.byteCount == 50 && budget.reserved == 110)
    withExtendedLifetime(sent) {}
    sent = nil
    #expect(budget.reserved == 50)
  }
}
