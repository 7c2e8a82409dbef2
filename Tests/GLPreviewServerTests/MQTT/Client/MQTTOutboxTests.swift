// What waits for an MQTT server, without one.
import Testing

@testable import MQTT

@Suite("MQTT outbox")
struct MQTTOutboxTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Takes all that can be sent now.
  private static func sent(_ outbox: inout MQTTOutbox) -> [(id: UInt16, text: String)] {
    var sent: [(UInt16, String)] = []
    while let (id, message) = outbox.next() {
      sent.append((id, "\(message.topic)=\(String(decoding: message.payload, as: UTF8.self))"))
    }
    return sent
  }

  /// The server confirms a message that is on its way.
  private static func confirm(_ id: UInt16, _ outbox: inout MQTTOutbox) {
    let isKnown = outbox.confirmed(id)
    #expect(isKnown)
  }

  private static func add(_ event: MQTTMessage, _ outbox: inout MQTTOutbox) -> Int { outbox.add(event) }

  /// Whether nothing can be sent.
  private static func isQuiet(_ outbox: inout MQTTOutbox) -> Bool { outbox.next() == nil }

  @Test(
    "the outbox sends nothing before a connection, then only the newest of each retained topic")
  func newest() {
    var outbox = MQTTOutbox()
    outbox.put("a", Self.bytes("1"))
    outbox.put("b", Self.bytes("1"))
    outbox.put("a", Self.bytes("2"))
    #expect(Self.isQuiet(&outbox))

    outbox.connected()
    #expect(Self.sent(&outbox).map(\.text) == ["a=2", "b=1"])
    outbox.put("a", Self.bytes("2"))
    #expect(Self.isQuiet(&outbox))
    outbox.put("a", Self.bytes("3"))
    #expect(Self.sent(&outbox).map(\.text) == ["a=3"])
  }

  @Test("after each reconnect all retained messages are sent again, acknowledged or not")
  func again() {
    var outbox = MQTTOutbox()
    outbox.put("a", Self.bytes("1"))
    outbox.put("b", Self.bytes("1"))
    outbox.connected()
    let ids = Self.sent(&outbox).map(\.id)
    Self.confirm(ids[0], &outbox)
    let isConfirmedTwice = outbox.confirmed(ids[0])
    #expect(!isConfirmedTwice && !outbox.isEmpty)

    outbox.disconnected()
    #expect(Self.isQuiet(&outbox))
    outbox.connected()
    #expect(Self.sent(&outbox).map(\.text) == ["a=1", "b=1"])
  }

  @Test(
    "one window of messages is sent until acknowledged, then the newest of each other topic"
  )
  func window() {
    var outbox = MQTTOutbox()
    outbox.connected()
    for number in 0..<1000 { for topic in 0..<20 { outbox.put("\(topic)", Self.bytes("\(number)")) } }
    let sent = Self.sent(&outbox)
    #expect(sent.count == MQTTOutbox.window)

    var rest: [String] = []
    for (id, _) in sent { Self.confirm(id, &outbox) }
    rest += Self.sent(&outbox).map(\.text)
    #expect(rest == (MQTTOutbox.window..<20).map { "\($0)=999" })
  }

  @Test("the event queue drops its oldest events when full, and all events while disconnected")
  func events() {
    var outbox = MQTTOutbox()
    #expect(Self.add(MQTTMessage(topic: "e", payload: [1]), &outbox) == 1)
    outbox.connected()
    var dropped = 0
    for number in 0..<1000 {
      dropped += outbox.add(MQTTMessage(topic: "e", payload: Self.bytes("\(number)")))
    }
    let oldest = outbox.next()?.1.payload
    #expect(dropped > 0 && oldest == Self.bytes("\(dropped)"))
    // One is on its way.
    let lost = outbox.disconnected()
    #expect(lost == 1000 - dropped)

    outbox.connected()
    let large = MQTTMessage(topic: "e", payload: [UInt8](repeating: 0, count: 1 << 20))
    let counts = (0..<3).map { _ in Self.add(large, &outbox) }
    #expect(counts == [0, 0, 1])
  }

  @Test("a cleared topic is sent empty until the broker acknowledges that, then forgotten")
  func clearing() {
    var outbox = MQTTOutbox()
    outbox.clear("never there")
    outbox.put("a", Self.bytes("1"))
    outbox.connected()
    let first = Self.sent(&outbox)[0].id
    Self.confirm(first, &outbox)
    outbox.clear("a")
    #expect(outbox.topics.isEmpty)

    // It is said again with the next connection, until it is confirmed.
    #expect(Self.sent(&outbox).map(\.text) == ["a="])
    outbox.connected()
    let (id, text) = Self.sent(&outbox)[0]
    Self.confirm(id, &outbox)
    #expect(text == "a=")
    outbox.connected()
    #expect(Self.isQuiet(&outbox) && outbox.isEmpty)
  }

  @Test("a topic that gets a new message while being cleared is kept")
  func comingBack() {
    var outbox = MQTTOutbox()
    outbox.put("a", Self.bytes("1"))
    outbox.connected()
    let first = Self.sent(&outbox)[0].id
    Self.confirm(first, &outbox)
    outbox.clear("a")
    let id = Self.sent(&outbox)[0].id
    outbox.put("a", Self.bytes("2"))
    Self.confirm(id, &outbox)

    let (last, text) = Self.sent(&outbox)[0]
    Self.confirm(last, &outbox)
    #expect(text == "a=2" && outbox.topics == ["a"])
  }

  @Test("a topic released to another node is neither sent nor cleared")
  func releasing() {
    var outbox = MQTTOutbox()
    outbox.put("a", Self.bytes("1"))
    outbox.put("b", Self.bytes("1"))
    outbox.release("a")
    outbox.connected()
    #expect(Self.sent(&outbox).map(\.text) == ["b=1"])
  }

  @Test("packet ids are never 0 and never those of unacknowledged messages")
  func ids() {
    var outbox = MQTTOutbox()
    outbox.connected()
    outbox.put("slow", [1])
    let slow = Self.sent(&outbox)[0].id
    for number in 0..<70_000 {
      outbox.put("a", Self.bytes("\(number)"))
      let id = Self.sent(&outbox)[0].id
      guard id != 0, id != slow, outbox.confirmed(id) else {
        Issue.record("id \(id)")
        return
      }
    }
  }
}
