import NIOCore

// What an MQTT server, or whoever stands between, may send.
@testable import MQTT

extension FuzzTarget {
  /// A server's bytes, all at once and byte by byte, in both versions.
  static let mqtt = FuzzTarget(
    name: "mqtt", longest: 4096,
    words: [
      "\\x20\\x02\\x00\\x00", "\\x30", "\\x31\\x04\\x00\\x01a", "\\x40\\x02\\x00\\x01", "\\xd0\\x00",
      "\\xff\\xff\\xff\\x7f",
    ],
    seeds: {
      [
        [0x20, 2, 0, 0, 0x90, 3, 0, 1, 0, 0x40, 2, 1, 2, 0xD0, 0, 0x31, 4, 0, 1, 0x61, 9],
        [0x20, 6, 0, 0x86, 3, 1, 2, 3, 0x90, 4, 0, 1, 0, 0, 0x40, 3, 0, 1, 0x87, 0xE0, 1, 0x8E],
        [0x30, 6, 0, 1, 0x61, 1, 5, 9], [0x30, 0xC8, 0x01] + [UInt8](repeating: 0, count: 200) + [0xD0, 0],
        [0x30, 0xFF, 0xFF, 0xFF, 0x7F], [0x20, 0x80, 0x80, 0x80, 0x80, 1],
      ]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      for version in [MQTTVersion.v3_1_1, .v5] {
        let whole = try read(input, version, inPiecesOf: max(input.count, 1))
        let cut = try read(input, version, inPiecesOf: 1)
        try must(whole.packets == cut.packets && whole.error == cut.error, "cut bytes read otherwise")
      }
    })

  private static func read(
    _ bytes: [UInt8], _ version: MQTTVersion, inPiecesOf size: Int
  ) throws(FuzzFault) -> (packets: [MQTTPacket], error: MQTTError?) {
    var parser = MQTTParser(version)
    parser.limit = 128
    var buffer = ByteBuffer()
    var packets: [MQTTPacket] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      buffer.writeBytes(bytes[start..<min(start + size, bytes.count)])
      while true {
        let packet: MQTTPacket?
        do throws(MQTTError) { packet = try parser.next(in: &buffer) } catch { return (packets, error) }
        guard let packet else { break }
        if case .message(let message) = packet {
          try must(message.payload.count <= parser.limit, "a payload of \(message.payload.count) bytes")
        }
        packets.append(packet)
      }
      try must(buffer.readableBytes <= parser.limit + 5, "\(buffer.readableBytes) bytes are kept")
    }
    return (packets, nil)
  }
}
