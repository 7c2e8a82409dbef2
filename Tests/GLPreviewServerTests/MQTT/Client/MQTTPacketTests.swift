// MQTT's bytes, worked out by hand from the standards, and what a server may not do.
import NIOCore
import TestSupport
import Testing

@testable import MQTT

@Suite("MQTT packets")
struct MQTTPacketTests {
  private static func bytes(_ command: MQTTCommand, _ version: MQTTVersion = .v3_1_1) -> [UInt8] {
    Array(command.bytes(version).readableBytesView)
  }

  private static func packets(_ bytes: [UInt8], _ version: MQTTVersion = .v3_1_1, limit: Int? = nil) throws
    -> [MQTTPacket]
  {
    var parser = MQTTParser(version)
    if let limit { parser.limit = limit }
    var buffer = ByteBuffer(bytes: bytes)
    var packets: [MQTTPacket] = []
    while let packet = try parser.next(in: &buffer) { packets.append(packet) }
    return packets
  }

  private static let introduction = MQTTIntroduction(
    id: "me", user: "u", password: "p", will: MQTTMessage(topic: "w", payload: [7], isRetained: true),
    keepAlive: .seconds(60))

  @Test("CONNECT is encoded with a retained QoS 1 will, credentials and, in MQTT 5, properties")
  func connect() {
    let start: [UInt8] = [0, 4, 0x4D, 0x51, 0x54, 0x54]
    #expect(
      Self.bytes(.connect(Self.introduction))
        == [0x10, 26] + start + [
          4, 0xEE, 0, 60, 0, 2, 0x6D, 0x65, 0, 1, 0x77, 0, 1, 7, 0, 1, 0x75, 0, 1, 0x70,
        ])
    #expect(
      Self.bytes(.connect(Self.introduction), .v5)
        == [0x10, 28] + start
        + [5, 0xEE, 0, 60, 0, 0, 2, 0x6D, 0x65, 0, 0, 1, 0x77, 0, 1, 7, 0, 1, 0x75, 0, 1, 0x70])
  }

  @Test("PUBLISH, SUBSCRIBE, PINGREQ and DISCONNECT are encoded as the MQTT standards specify")
  func commands() {
    let message = MQTTMessage(topic: "a/b", payload: [1, 2], isRetained: true)
    #expect(Self.bytes(.publish(message, id: 258)) == [0x33, 9, 0, 3, 0x61, 0x2F, 0x62, 1, 2, 1, 2])
    #expect(Self.bytes(.publish(message, id: 258), .v5) == [0x33, 10, 0, 3, 0x61, 0x2F, 0x62, 1, 2, 0, 1, 2])
    #expect(Self.bytes(.subscribe(["x"])) == [0x82, 6, 0, 1, 0, 1, 0x78, 0])
    #expect(Self.bytes(.subscribe(["x"]), .v5) == [0x82, 7, 0, 1, 0, 0, 1, 0x78, 0])
    #expect(Self.bytes(.ping) == [0xC0, 0] && Self.bytes(.disconnect) == [0xE0, 0])
  }

  @Test(
    "the length of a packet is encoded with 7 bits per byte",
    arguments: [(123, [0x7F]), (124, [0x80, 0x01])])
  func length(count: Int, expected: [UInt8]) {
    let message = MQTTMessage(topic: "", payload: [UInt8](repeating: 0, count: count))
    #expect(Self.bytes(.publish(message, id: 1)).dropFirst().prefix(expected.count) == expected[...])
  }

  @Test("a broker's packets are parsed alike from one buffer and byte by byte")
  func packets() throws {
    let bytes: [UInt8] =
      [0x20, 2, 0, 0, 0x90, 3, 0, 1, 0x80, 0x40, 2, 1, 2, 0xD0, 0] + [
        0x31, 4, 0, 1, 0x61, 9, 0x30, 3, 0, 1, 0x62,
      ]
    let expected: [MQTTPacket] = [
      .answeredConnect(code: 0), .answeredSubscribe(codes: [0x80]), .answeredPublish(id: 258, code: 0),
      .answeredPing, .message(MQTTMessage(topic: "a", payload: [9], isRetained: true)),
      .message(MQTTMessage(topic: "b", payload: [])),
    ]
    #expect(try Self.packets(bytes) == expected)

    var parser = MQTTParser(.v3_1_1)
    var buffer = ByteBuffer()
    var packets: [MQTTPacket] = []
    for byte in bytes {
      buffer.writeInteger(byte)
      while let packet = try parser.next(in: &buffer) { packets.append(packet) }
    }
    #expect(packets == expected)
  }

  @Test("a broker's MQTT 5 packets are parsed with their properties and reason codes")
  func packetsOf5() throws {
    let bytes: [UInt8] = [
      0x20, 6, 0, 0x86, 3, 1, 2, 3, 0x90, 4, 0, 1, 0, 0, 0x40, 3, 0, 1, 0x87, 0x30, 6, 0, 1, 0x61, 1, 5, 9,
      0xE0,
      1, 0x8E,
    ]
    #expect(
      try Self.packets(bytes, .v5) == [
        .answeredConnect(code: 0x86), .answeredSubscribe(codes: [0]), .answeredPublish(id: 1, code: 0x87),
        .message(MQTTMessage(topic: "a", payload: [9])), .disconnected(code: 0x8E),
      ])
  }

  @Test(
    "random bytes are parsed alike at once and byte by byte, with at most 21 bytes buffered",
    arguments: [MQTTVersion.v3_1_1, .v5])
  func random(version: MQTTVersion) throws {
    let starts: [UInt8] = [0x20, 0x30, 0x31, 0x40, 0x90, 0xD0, 0xE0, 0, 1, 2, 3, 0x7F, 0x80, 0xFF]
    var random = SeededGenerator(seed: 1)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1...40, using: &random)).map { _ in
        random.happens(0.7) ? random.oneOf(starts) : UInt8.random(in: 0...255, using: &random)
      }
      let whole = Result { try Self.packets(bytes, version, limit: 16) }
      var parser = MQTTParser(version)
      parser.limit = 16
      var buffer = ByteBuffer()
      var packets: [MQTTPacket] = []
      let cut = Result {
        for byte in bytes {
          buffer.writeInteger(byte)
          while let packet = try parser.next(in: &buffer) { packets.append(packet) }
          guard buffer.readableBytes <= 21 else { throw MQTTError.violation("kept") }
        }
        return packets
      }
      let isAlike =
        switch (whole, cut) {
        case (.success(let one), .success(let other)): one == other
        case (.failure(let one as MQTTError), .failure(let other as MQTTError)): one == other
        default: false
        }
      guard isAlike else {
        Issue.record("\(bytes): \(whole), \(cut)")
        return
      }
    }
  }

  @Test("a message over the size limit is skipped without buffering, and later packets are parsed")
  func large() throws {
    let large: [UInt8] = [0x30, 0xE8, 0x07] + [UInt8](repeating: 1, count: 1000)
    #expect(try Self.packets(large + [0xD0, 0], limit: 999) == [.answeredPing])

    var parser = MQTTParser(.v3_1_1)
    parser.limit = 10
    var buffer = ByteBuffer(bytes: [0x30, 0xFF, 0xFF, 0xFF, 0x7F])
    for _ in 0..<1000 {
      #expect(try parser.next(in: &buffer) == nil)
      #expect(buffer.readableBytes == 0)
      buffer.writeRepeatingByte(0, count: 1000)
    }
  }

  @Test(
    "malformed MQTT packets throw MQTTError",
    arguments: [
      [0x48, 0x54, 0x54, 0x50, 0x2F], [0x20, 1, 0], [0x20, 0xFF, 0xFF, 0xFF, 0x7F],
      [0x30, 0x80, 0x80, 0x80, 0x80, 1],
      [0x30, 2, 0, 9], [0x32, 5, 0, 1, 0x61, 0, 1], [0x40, 1, 0], [0x90, 0], [0xF0, 0], [0x10, 0],
    ])
  func violations(bytes: [UInt8]) {
    #expect(throws: MQTTError.self) { try Self.packets(bytes) }
  }
}
