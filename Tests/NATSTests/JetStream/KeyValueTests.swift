import Foundation
import Synchronization
import TestSupport
import Testing

@testable import NATS

@Suite(
  "Key-value buckets", .enabled(if: NATSServer.isInstalled, "needs nats-server: scripts/setup cluster"),
  .timeLimit(.minutes(15)))
struct KeyValueTests {
  /// A bucket in memory.
  private static func withBucket(
    history: Int = 1, _ work: (KeyValue) async throws -> Void
  ) async throws {
    try await withJetStream { jetStream in
      var configuration = KeyValueConfiguration(bucket: "b")
      configuration.storage = .memory
      configuration.history = history
      configuration.maximumAge = .seconds(3600)
      try await work(try await jetStream.createBucket(configuration))
    }
  }

  @Test("a key is created once, and updated or deleted only at its current revision")
  func writing() async throws {
    try await Self.withBucket { bucket in
      #expect(try await bucket.get("a") == nil)
      let first = try await bucket.create("a", [1])
      await #expect(throws: JetStreamError.conflict(revision: first)) { try await bucket.create("a", [2]) }
      let second = try await bucket.update("a", [2], revision: first)
      await #expect(throws: JetStreamError.conflict(revision: second)) {
        try await bucket.update("a", [3], revision: first)
      }
      for reader in [KeyValue.Reader.anyReplica, .leader] {
        let entry = try #require(try await bucket.get("a", from: reader))
        #expect(entry.value == [2] && entry.revision == second && entry.key == "a")
      }

      await #expect(throws: JetStreamError.conflict(revision: second)) {
        try await bucket.delete("a", revision: first)
      }
      try await bucket.delete("a", revision: second)
      for reader in [KeyValue.Reader.anyReplica, .leader] {
        #expect(try await bucket.get("a", from: reader) == nil)
      }
      let third = try await bucket.create("a", [4])
      #expect(third > second)
      try await bucket.put("n/1.x", [5])
      try await bucket.purge("a")
      #expect(try await bucket.keys() == ["n/1.x"])
      #expect(try await bucket.create("a", []) > third)
      #expect(try await bucket.get("a")?.value == [])
      await #expect(throws: JetStreamError.invalid(.invalidName("a b"))) { try await bucket.put("a b", []) }
    }
  }

  @Test("exactly one of 200 concurrent creates of a key succeeds")
  func race() async throws {
    try await Self.withBucket { bucket in
      let winners = try await withThrowingTaskGroup(of: UInt64?.self) { group in
        for number in 0..<200 {
          group.addTask {
            do throws(JetStreamError) {
              return try await bucket.create("lease", [UInt8(number)])
            } catch .conflict {
              return nil
            }
          }
        }
        return try await group.reduce(into: [UInt64]()) { winners, revision in
          if let revision { winners.append(revision) }
        }
      }

      #expect(winners.count == 1)
      #expect(try await bucket.get("lease", from: .leader)?.revision == winners.first)
    }
  }

  @Test("creating a conflicting bucket, or using a missing or deleted one, throws")
  func buckets() async throws {
    try await Self.withBucket { bucket in
      let jetStream = bucket.jetStream
      var other = KeyValueConfiguration(bucket: "b")
      await #expect(throws: JetStreamError.nameInUse) { try await jetStream.createBucket(other) }
      other.bucket = "none"
      let none = try jetStream.bucket("none")
      await #expect(throws: JetStreamError.streamNotFound) { try await none.get("a", from: .leader) }
      await #expect(throws: JetStreamError.self) { try await none.put("a", []) }
      await #expect(throws: JetStreamError.streamNotFound) { try await none.keys() }
      #expect(try await bucket.keys() == [])
      try await jetStream.deleteBucket("b")
      await #expect(throws: JetStreamError.streamNotFound) { try await bucket.get("a", from: .leader) }
      #expect(throws: JetStreamError.invalid(.invalidName("a.b"))) { try jetStream.bucket("a.b") }
    }
  }

  @Test("a watcher receives existing entries, a marker that they are current, and each change")
  func watching() async throws {
    try await Self.withBucket(history: 5) { bucket in
      var empty = try bucket.watch().makeAsyncIterator()
      #expect(try await Self.heard(1, by: &empty) == ["current"])
      for (key, value) in [("a", 1), ("b", 2), ("a", 3)] { try await bucket.put(key, [UInt8(value)]) }

      var watch = try bucket.watch().makeAsyncIterator()
      var one = try bucket.watch("b").makeAsyncIterator()
      #expect(try await Self.heard(3, by: &watch) == ["b=2", "a=3", "current"])
      #expect(try await Self.heard(2, by: &one) == ["b=2", "current"])
      #expect(try await Self.heard(3, by: &empty) == ["a=1", "b=2", "a=3"])
      try await bucket.delete("a")
      try await bucket.purge("b")
      #expect(try await Self.heard(2, by: &watch) == ["a delete", "b purge"])
      #expect(try await Self.heard(1, by: &one) == ["b purge"])
      await bucket.jetStream.client.close()
      #expect(try await Self.heard(1, by: &watch) == [])
    }
  }

  @Test("a watcher receives 5000 keys, each once and in order of revision")
  func manyKeys() async throws {
    try await Self.withBucket { bucket in
      let count = 5000
      try await withThrowingTaskGroup(of: Void.self) { group in
        for start in 0..<10 {
          group.addTask {
            for number in stride(from: start, to: count, by: 10) { try await bucket.put("k.\(number)", [0]) }
          }
        }
        try await group.waitForAll()
      }

      var keys: [String] = []
      var revision: UInt64 = 0
      var isInOrder = true
      for try await change in try bucket.watch() {
        guard case .entry(let entry) = change else { break }
        keys.append(entry.key)
        isInOrder = isInOrder && entry.revision > revision
        revision = entry.revision
      }

      #expect(keys.count == count && Set(keys).count == count && isInOrder)
      #expect(try await bucket.keys().count == count)
    }
  }

  @Test("a watcher continues after the server was killed and restarted, without missing a change")
  func restart() async throws {
    let folder = NATSServer.makeFolder()
    let text = "jetstream { store_dir: \"FOLDER/js\" }"
    let server = Mutex<NATSServer?>(try await NATSServer(text, folder: folder))
    let port = try #require(server.withLock { $0?.reserved })
    try await withClient(.patient(port.number)) { client in
      let bucket = try await JetStream(client).createBucket(KeyValueConfiguration(bucket: "b"))
      try await bucket.put("a", [1])
      var watch = try bucket.watch(heartbeat: .milliseconds(200)).makeAsyncIterator()
      #expect(try await Self.heard(2, by: &watch) == ["a=1", "current"])
      let events = client.events()
      await server.withLock { $0 }?.kill9()
      let again = try await NATSServer(text, port: port, folder: folder)
      try await events.hear { if case .connected = $0 { true } else { false } }
      await until { (try? await bucket.put("a", [2])) != nil }
      await until { (try? await bucket.put("b", [3])) != nil }

      var heard: [String] = []
      while heard.last != "b=3", let change = try await watch.next() { heard.append(Self.text(change)) }
      #expect(heard.first == "a=2" && !heard.contains("reset"), "\(heard)")
      _ = again
    }
  }

  @Test("a watcher is reset when its bucket is recreated, and throws when its bucket is deleted")
  func newBucket() async throws {
    try await Self.withBucket { bucket in
      for number in 1...3 { try await bucket.put("a", [UInt8(number)]) }
      var watch = try bucket.watch(heartbeat: .milliseconds(100)).makeAsyncIterator()
      #expect(try await Self.heard(2, by: &watch) == ["a=3", "current"])
      try await bucket.jetStream.deleteBucket("b")
      let new = try await bucket.jetStream.createBucket(KeyValueConfiguration(bucket: "b"))
      try await new.put("c", [4])
      #expect(try await Self.heard(3, by: &watch) == ["reset", "c=4", "current"])
      try await bucket.jetStream.deleteBucket("b")
      await #expect(throws: JetStreamError.streamNotFound) { try await Self.heard(1, by: &watch) }
    }
  }

  @Test("a bucket with three replicas can be watched and updated after its leader is killed")
  func cluster() async throws {
    let cluster = try await NATSCluster()
    var patient = NATSConfiguration.patient(cluster.servers.map(\.port))
    // A request that a dying server took is never answered.
    patient.requestTimeout = .seconds(2)
    try await withClient(patient) { client in
      let jetStream = try JetStream(client)
      var configuration = KeyValueConfiguration(bucket: "b")
      configuration.replicas = 3
      configuration.storage = .memory
      let bucket = try jetStream.bucket("b")
      await until { (try? await jetStream.createBucket(configuration)) != nil }
      await until { (try? await bucket.put("a", [1])) != nil }
      var watch = try bucket.watch(heartbeat: .milliseconds(500)).makeAsyncIterator()
      #expect(try await Self.heard(2, by: &watch) == ["a=1", "current"])

      var leader: String?
      await until {
        leader = try? await jetStream.stream("KV_b").cluster?.leader
        return leader != nil
      }
      var first: UInt64?
      await until {
        first = try? await bucket.get("a", from: .leader)?.revision
        return first != nil
      }
      let revision = try #require(first)
      await cluster[try #require(leader)]?.kill9()

      // It may be carried out although the answer is lost, and then is a conflict the next time.
      await until {
        do throws(JetStreamError) {
          try await bucket.update("a", [2], revision: revision)
          return true
        } catch {
          return error == .conflict(revision: revision + 1)
        }
      }
      #expect(try await Self.heard(1, by: &watch) == ["a=2"])
      await until {
        let now = try? await jetStream.stream("KV_b").cluster?.leader
        return now != nil && now != leader
      }
      await until { (try? await bucket.get("a", from: .leader)?.value) == [2] }
    }
  }

  /// What a watcher hears next, as text.
  private static func heard(
    _ count: Int, by watch: inout KeyValueWatch.Iterator
  ) async throws -> [String] {
    var heard: [String] = []
    while heard.count < count, let change = try await watch.next() { heard.append(text(change)) }
    return heard
  }

  private static func text(_ change: KeyValueWatch.Element) -> String {
    switch change {
    case .current: "current"
    case .reset: "reset"
    case .entry(let entry):
      entry.operation == .put ? "\(entry.key)=\(entry.value[0])" : "\(entry.key) \(entry.operation)"
    }
  }
}
