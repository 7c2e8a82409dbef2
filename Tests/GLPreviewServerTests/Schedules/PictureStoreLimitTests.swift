// Pictures that wait for a store: how many, in how much memory, for how long they may be sent, and at the end.
import AsyncHTTPClient
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension PictureStoreTests {
  // MARK: - Bounds

  @Test(
    "pictures above the capacity push out the oldest, which are counted",
    .timeLimit(.minutes(15)))
  func capacity() async throws {
    let receiver = Receiver()
    let running = try await Self.run(
      at: receiver, { $0.capacity = 2 },
      before: { running in
        for number in 1...5 { running.put("\(number)", as: "c", "v", "\(number).jpg") }
        #expect(running.store.status == DeliveryQueue.Status(waiting: 2, dropped: 3))
      }
    ) { running in
      await running.shows(#"uploads_total{store="web",result="done"} 2"#)
    }
    #expect(Set(receiver.all.map(\.text)) == ["4", "5"])
    #expect(running.metrics.text.contains(#"glpreview_uploads_total{store="web",result="dropped"} 3"#))
    #expect(running.budget.reserved == 0)
  }

  @Test("a picture for which there is no memory is dropped and counted")
  func memory() async throws {
    let receiver = Receiver()
    let running = try await Self.run(at: receiver) { running in
      running.budget.overhead = running.budget.capacity
      running.put("a", as: "c", "v", "1.jpg")
      #expect(running.store.status == DeliveryQueue.Status(dropped: 1))
      running.budget.overhead = 0
      running.put("b", as: "c", "v", "2.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(receiver.all.map(\.text) == ["b"])
    #expect(running.metrics.text.contains(#"glpreview_uploads_total{store="web",result="dropped"} 1"#))
  }

  @Test("waiting pictures hold at most a sixteenth of the budget, and the oldest are dropped")
  func waitingBytes() async throws {
    let receiver = Receiver()
    let large = [UInt8](repeating: 7, count: 200 << 10)
    let running = try await Self.run(
      at: receiver,
      before: { running in
        for number in 1...5 {
          running.store.put(
            [UInt8](repeating: UInt8(number), count: 20 << 10), as: [["c", "v", "\(number).jpg"]])
        }
        #expect(running.store.status == DeliveryQueue.Status(waiting: 3, dropped: 2))
        #expect(running.budget.reserved == 60 << 10)
        // A picture that is larger than that is not dropped for itself.
        running.store.put(large, as: [["c", "v", "6.jpg"]])
        #expect(running.store.status == DeliveryQueue.Status(waiting: 1, dropped: 5))
        #expect(running.budget.reserved == 200 << 10)
      }
    ) { running in
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(receiver.all.map(\.body) == [large])
    #expect(running.drops == ["pictures for store web dropped: reason=too many wait"])
  }

  @Test("a picture under two names takes its memory once")
  func twoNames() async throws {
    let receiver = Receiver()
    let picture = [UInt8](repeating: 7, count: 40 << 10)
    let running = try await Self.run(
      at: receiver,
      before: { running in
        running.store.put(picture, as: [["c", "v", "1.jpg"], ["c", "v", "latest.jpg"]])
        #expect(running.budget.reserved == 40 << 10)
        // Twice as much would be more than may wait.
        #expect(running.store.status == DeliveryQueue.Status(waiting: 2))
      }
    ) { running in
      await running.shows(#"uploads_total{store="web",result="done"} 2"#)
    }
    #expect(receiver.names.sorted() == ["c/v/1.jpg", "c/v/latest.jpg"])
    #expect(receiver.all.allSatisfy { $0.body == picture } && running.budget.reserved == 0)
  }

  @Test("a picture above the bytes that may wait is sent under both of its names")
  func largeUnderTwoNames() async throws {
    let receiver = Receiver()
    _ = try await Self.run(
      at: receiver,
      before: { running in
        running.store.put(
          [UInt8](repeating: 7, count: 200 << 10), as: [["c", "v", "1.jpg"], ["c", "v", "latest.jpg"]])
        #expect(running.store.status == DeliveryQueue.Status(waiting: 2))
      }
    ) { running in
      await running.shows(#"uploads_total{store="web",result="done"} 2"#)
    }
    #expect(receiver.names.sorted() == ["c/v/1.jpg", "c/v/latest.jpg"])
  }

  @Test("a picture that may not be sent any more is not sent, nor again, and others are")
  func hidden() async throws {
    let receiver = Receiver([Response(status: .serviceUnavailable)], holding: "a/v/1.jpg")
    let mayBeSent = Watched(true)
    let running = try await Self.run(at: receiver) { running in
      func put(_ name: String) {
        running.store.put(Array(name.utf8), as: [["a", "v", name]]) { mayBeSent.value }
      }
      put("1.jpg")
      await until { receiver.names == ["a/v/1.jpg"] }
      mayBeSent.update { $0 = false }
      receiver.isReleased.update { $0 = true }
      await running.shows(#"uploads_total{store="web",result="dropped"} 1"#)
      put("2.jpg")
      await running.shows(#"uploads_total{store="web",result="dropped"} 2"#)
      running.put("other", as: "b", "v", "3.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
    }
    #expect(receiver.names == ["a/v/1.jpg", "b/v/3.jpg"])
    #expect(running.drops == ["pictures for store web dropped: reason=may no longer be shown"])
    #expect(running.store.status == DeliveryQueue.Status(sent: 1, dropped: 2))
    #expect(running.budget.reserved == 0)
  }

  @Test("of several drops the log has the first with each reason, until pictures arrive again")
  func dropLog() async throws {
    let running = try await Self.run(
      { $0.capacity = 1 },
      before: { running in for number in 1...4 { running.put("a", as: "c", "v", "\(number).jpg") } }
    ) { running in
      func putWithoutMemory() {
        running.budget.overhead = running.budget.capacity
        for number in 1...3 { running.put("b", as: "c", "v", "\(number).jpg") }
        running.budget.overhead = 0
      }
      await running.shows(#"uploads_total{store="web",result="done"} 1"#)
      putWithoutMemory()
      running.put("c", as: "c", "v", "1.jpg")
      await running.shows(#"uploads_total{store="web",result="done"} 2"#)
      putWithoutMemory()
    }
    #expect(
      running.drops.map { $0.split(separator: "=").last } == ["too many wait", "no memory", "no memory"])
    #expect(running.store.status == DeliveryQueue.Status(sent: 2, dropped: 9))
  }

  @Test("a server that reads a picture slowly delays only pictures of the same name")
  func slowUpload() async throws {
    let receiver = Receiver(leavingUnread: "slow/v/1.jpg")
    // More than the sockets take.
    let large = (0..<(700 << 10)).map { UInt8(truncatingIfNeeded: $0 / 7) }
    _ = try await Self.run(at: receiver) { running in
      running.store.put(large, as: [["slow", "v", "1.jpg"]])
      await until { receiver.isAsked.value }
      for number in 0..<20 { running.put("quick", as: "quick", "v", "\(number).jpg") }
      await running.shows(#"uploads_total{store="web",result="done"} 20"#)
      receiver.isReleased.update { $0 = true }
      await running.shows(#"uploads_total{store="web",result="done"} 21"#)
    }
    #expect(receiver.all.map(\.body).last == large)
  }

  // MARK: - The end of the service

  @Test("when the service ends, each waiting picture is sent once more")
  func ending() async throws {
    let receiver = Receiver()
    _ = try await Self.run(
      at: receiver,
      before: { running in
        for number in 10..<40 { running.put("\(number)", as: "c", "v", "\(number).jpg") }
      }
    ) { _ in await until { !receiver.all.isEmpty } }
    #expect(receiver.all.map(\.text).sorted() == (10..<40).map { "\($0)" })
  }

  @Test(
    "a store that can't be reached delays no shutdown, and its problem contains no secret",
    arguments: ["http://127.0.0.1:1/cams", "http://localhost:99999/cams"])
  func unreachable(url: String) async throws {
    let running = try await Self.run({ ($0.url, $0.attempts) = (url, 1) }) { running in
      running.put("a", as: "c", "v", "1.jpg")
      await running.shows(#"uploads_total{store="web",result="failed"} 1"#)
    }
    let problem = try #require(running.store.status.problem)
    #expect(!problem.isEmpty && !problem.contains(Self.secret))
  }

  @Test("two stores that never answer end together with the service, and what they did not send is counted")
  func deadStores() async throws {
    let servers = try await [SilentServer(answer: nil), SilentServer(answer: nil)]
    let (records, metrics, budget) = (LogRecords(), ServiceMetrics(), MemoryBudget(capacity: 1 << 20))
    let stores = servers.enumerated().map { number, server in
      var configuration = StoreConfiguration(name: "dead\(number)")
      configuration.url = "http://127.0.0.1:\(server.port)/cams"
      return PictureStore(
        configuration, within: budget, metrics: metrics, logger: records.logger,
        times: .init(connects: allTheTimeThereIs, answers: allTheTimeThereIs))
    }
    for store in stores {
      for number in 0..<20 { store.put([1, 2, 3], as: [["c", "v", "\(number).jpg"]]) }
    }
    let group = ServiceGroup(services: [PictureStores(all: stores)], logger: records.logger)
    async let running: Void = group.run()
    // Eight are being sent.
    await until { stores.allSatisfy { $0.status.waiting == 12 } }
    await group.triggerGracefulShutdown()
    try await running
    for store in stores {
      let status = store.status
      #expect(status.waiting == 0 && status.sent == 0 && status.failed == 8 && status.dropped == 12)
      let line = #"glpreview_uploads_total{store="\#(store.configuration.name)",result="dropped"} 12"#
      #expect(metrics.text.contains(line + "\n"))
    }
    #expect(records.messages.count { $0.hasSuffix("not sent before shutdown") } == 2)
    withExtendedLifetime(servers) {}
  }
}
