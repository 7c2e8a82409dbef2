// A watch of a bucket whose first consumer is at a server with a broken copy of the stream.
import TestSupport
import Testing

@testable import NATS

@Suite("Consumers without messages", .timeLimit(.minutes(15)))
struct BlindConsumerTests {
  @Test("a watch replaces a consumer that has no messages of a bucket that has some")
  func replaced() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let bucket = try JetStream(client).bucket("b")
      async let first: KeyValueWatch.Element? = {
        var changes = try bucket.watch().makeAsyncIterator()
        return try await changes.next()
      }()
      let stream =
        #"{"config": {"name": "KV_b"}, "created": "1", "state": {"messages": 1, "bytes": 9, "first_seq": 4, "last_seq": 4}}"#
      var (inbox, delivery, consumers) = ("", "", 0)
      while consumers < 2, let line = try await connection.command() {
        let words = line.split(separator: " ").map(String.init)
        guard words[0] == "PUB" else {
          if words[0] == "SUB" {
            if inbox.isEmpty { inbox = words[2] }
            delivery = words[2]
          }
          continue
        }
        _ = await connection.line()
        var answer = stream
        if words[1].contains("CONSUMER.CREATE") {
          consumers += 1
          answer = #"{"name": "c", "num_pending": \#(consumers - 1)}"#
        }
        try await connection.send("MSG \(words[2]) \(inbox) \(answer.utf8.count)", answer)
      }
      #expect(consumers == 2)
      let reply = "$JS.ACK.KV_b.c.1.4.1.1700000000000000000.0"
      try await connection.send("MSG $KV.b.door \(delivery) \(reply) 2", "up")
      guard case .entry(let entry) = try await first else {
        Issue.record("no entry")
        return
      }
      #expect(entry.key == "door" && entry.revision == 4 && entry.value == [UInt8](text: "up"))
    }
  }
}
