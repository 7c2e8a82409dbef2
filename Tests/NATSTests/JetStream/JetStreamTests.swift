import Foundation
import Synchronization
import TestSupport
import Testing

@testable import NATS

/// A client of a server with JetStream.
func withJetStream(_ work: (JetStream) async throws -> Void) async throws {
  let server = try await NATSServer("jetstream { store_dir: \"FOLDER/js\" }")
  try await withClient(.patient(server.port)) { try await work(try JetStream($0)) }
  _ = server
}

@Suite(
  "JetStream", .enabled(if: NATSServer.isInstalled, "needs nats-server: scripts/setup cluster"),
  .timeLimit(.minutes(15)))
struct JetStreamTests {
  @Test("a stream is created, queried, updated and deleted")
  func streams() async throws {
    try await withJetStream { jetStream in
      var configuration = StreamConfiguration(name: "events", subjects: ["ev.>"])
      configuration.storage = .memory
      configuration.maximumAge = .seconds(3600)
      let first = try await jetStream.createStream(configuration)
      #expect(try await jetStream.createStream(configuration).created == first.created)
      try await jetStream.publish("ev.a", [1, 2, 3])
      let info = try await jetStream.stream("events")
      #expect(info.state.messages == 1 && info.state.firstSequence == 1 && info.state.lastSequence == 1)

      var other = configuration
      other.maximumMessages = 10
      await #expect(throws: JetStreamError.nameInUse) { try await jetStream.createStream(other) }
      try await jetStream.updateStream(other)
      for _ in 0..<20 { try await jetStream.publish("ev.a", []) }
      #expect(try await jetStream.stream("events").state.messages == 10)
      try await jetStream.deleteStream("events")
      await #expect(throws: JetStreamError.streamNotFound) { try await jetStream.stream("events") }
      await #expect(throws: JetStreamError.streamNotFound) { try await jetStream.deleteStream("events") }
      await #expect(throws: JetStreamError.invalid(.invalidName("a.b"))) { try await jetStream.stream("a.b") }
      await #expect(throws: JetStreamError.unavailable(.noResponders)) {
        try await jetStream.publish("ev.a", [])
      }
    }
  }

  @Test("a request to a server without JetStream throws unavailable")
  func absence() async throws {
    let server = try await NATSServer()
    try await withClient(.patient(server.port)) { client in
      let jetStream = try JetStream(client)
      await #expect(throws: JetStreamError.unavailable(.noResponders)) { try await jetStream.stream("a") }
    }
  }

  @Test("a duplicate message id is stored once, and a wrong expected last sequence is a conflict")
  func publishing() async throws {
    try await withJetStream { jetStream in
      try await jetStream.createStream(StreamConfiguration(name: "s", subjects: ["s.*"]))
      let first = try await jetStream.publish("s.a", [1], id: "one")
      let again = try await jetStream.publish("s.a", [1], id: "one")
      #expect(first.sequence == 1 && !first.isDuplicate && first.stream == "s")
      #expect(again.sequence == 1 && again.isDuplicate)

      #expect(try await jetStream.publish("s.a", [2], expectedLast: 1).sequence == 2)
      await #expect(throws: JetStreamError.conflict(revision: 2)) {
        try await jetStream.publish("s.a", [3], expectedLast: 1)
      }
      await #expect(throws: JetStreamError.conflict(revision: 0)) {
        try await jetStream.publish("s.b", [3], expectedLast: 1)
      }
    }
  }

  @Test("a job goes to one worker, is redelivered after a rejection, and removed when acknowledged")
  func workQueue() async throws {
    try await withJetStream { jetStream in
      var stream = StreamConfiguration(name: "jobs", subjects: ["jobs.*"])
      stream.retention = .workQueue
      try await jetStream.createStream(stream)
      var patient = ConsumerConfiguration(name: "workers")
      patient.acknowledgeWithin = allTheTimeThereIs
      let workers = try await jetStream.createConsumer(of: "jobs", patient)
      let same = try await jetStream.consumer("workers", of: "jobs")
      for number in 1...5 { try await jetStream.publish("jobs.a", [UInt8(number)]) }

      let two = try await workers.fetch(2, wait: allTheTimeThereIs)
      let rest = try await same.fetch(3, wait: allTheTimeThereIs)
      #expect(two.map(\.sequence) == [1, 2] && rest.map(\.sequence) == [3, 4, 5])
      #expect(two[0].deliveries == 1 && two[0].message.payload == [1] && two[1].pending == 3)
      for job in rest { try await job.acknowledgeForCertain() }
      #expect(try await jetStream.stream("jobs").state.messages == 2)

      try two[0].inProgress()
      try two[0].reject()
      let again = try await workers.fetch(1, wait: allTheTimeThereIs)
      #expect(again.map(\.sequence) == [1] && again.first?.deliveries == 2)
      try two[1].reject(retryAfter: .milliseconds(5))
      let later = try await workers.fetch(1, wait: allTheTimeThereIs)
      #expect(later.map(\.sequence) == [2])
      try later.first?.terminate()
      try again.first?.acknowledge()
      await until { (try? await jetStream.stream("jobs").state.messages) == 0 }
      #expect(try await workers.fetch(1, wait: .milliseconds(1)).isEmpty)
    }
  }

  @Test("an unacknowledged job is delivered maximumDeliveries times")
  func deliveries() async throws {
    try await withJetStream { jetStream in
      try await jetStream.createStream(StreamConfiguration(name: "jobs", subjects: ["jobs"]))
      var consumer = ConsumerConfiguration(name: "workers")
      consumer.acknowledgeWithin = .milliseconds(50)
      consumer.maximumDeliveries = 2
      let workers = try await jetStream.createConsumer(of: "jobs", consumer)
      try await jetStream.publish("jobs", [])
      for delivery in 1...2 {
        #expect(try await workers.fetch(1, wait: allTheTimeThereIs).first?.deliveries == delivery)
      }
      try await jetStream.publish("jobs", [])
      #expect(try await workers.fetch(1, wait: allTheTimeThereIs).first?.sequence == 2)
    }
  }

  @Test("fetching from a missing or deleted consumer throws consumerNotFound")
  func missingConsumers() async throws {
    try await withJetStream { jetStream in
      try await jetStream.createStream(StreamConfiguration(name: "jobs", subjects: ["jobs"]))
      await #expect(throws: JetStreamError.consumerNotFound) {
        try await jetStream.consumer("none", of: "jobs")
      }
      let workers = try await jetStream.createConsumer(of: "jobs", ConsumerConfiguration(name: "workers"))
      let waiting = Task { try await workers.fetch(1, wait: allTheTimeThereIs) }
      await until { jetStream.client.state.withLock { $0.subscriptions.count == 2 } }
      try await jetStream.client.flush()
      try await jetStream.deleteConsumer("workers", of: "jobs")
      await #expect(throws: JetStreamError.consumerNotFound) { try await waiting.value }
      // Servers don't answer then, so that it shows when the time is over.
      let hasty = try JetStream(jetStream.client, timeout: .milliseconds(50))
      let gone = PullConsumer(hasty, stream: "jobs", name: "workers")
      await until {
        do throws(JetStreamError) { _ = try await gone.fetch(1, wait: .milliseconds(1)) } catch {
          return error == .consumerNotFound
        }
        return false
      }
      let cancelled = Task { try await workers.fetch(1, wait: allTheTimeThereIs) }
      cancelled.cancel()
      await #expect(throws: JetStreamError.self) { try await cancelled.value }
    }
  }

  @Test("delivery metadata is parsed from old and new reply formats, and other replies are rejected")
  func metadata() throws {
    let client = try NATSClient(.patient(1), logger: silent)
    func read(_ reply: String) -> JetStreamMessage? {
      JetStreamMessage(NATSMessage("a", reply: reply), of: client)
    }

    for reply in [
      "$JS.ACK.s.c.2.30.4.1700000000000000000.6", "$JS.ACK.d.h.s.c.2.30.4.1700000000000000000.6.token",
    ] {
      let message = try #require(read(reply))
      #expect(message.deliveries == 2 && message.sequence == 30 && message.consumerSequence == 4)
      #expect(message.pending == 6)
    }
    for reply in [
      "", "a", "$JS.ACK", "$JS.ACK.s.c.x.30.4.1.6", "$JS.ACK.s.c.2.-1.4.1.6", "$JS.FC.s.c.2.1.4.1.6",
    ] {
      #expect(read(reply) == nil, "\(reply)")
    }
  }
}
