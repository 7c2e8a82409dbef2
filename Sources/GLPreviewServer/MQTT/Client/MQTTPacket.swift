// The packets of MQTT 3.1.1 and 5 (OASIS Standard, chapters 2 and 3) that a client needs to publish at QoS 1
// and to subscribe at QoS 0. No I/O; a server's bytes are checked and bounded.
internal import NIOCore

/// The protocol level in CONNECT.
enum MQTTVersion: UInt8, Sendable {
  case v3_1_1 = 4
  case v5 = 5
}

struct MQTTMessage: Sendable, Hashable {
  let topic: String
  let payload: [UInt8]
  /// To the server: the server should retain the message. From the server: the message was retained.
  var isRetained = false
}

/// A packet from a server.
enum MQTTPacket: Sendable, Hashable {
  case answeredConnect(code: UInt8)
  case message(MQTTMessage)
  /// The server has received a message. Codes of 0x80 or more reject it (MQTT 5).
  case answeredPublish(id: UInt16, code: UInt8)
  /// Codes of 0x80 or more are refusals.
  case answeredSubscribe(codes: [UInt8])
  case answeredPing
  case disconnected(code: UInt8)
}

/// Finds packets in a server's bytes. A message that is too large is skipped.
struct MQTTParser: Sendable {
  let version: MQTTVersion
  /// The largest packet that is read, in bytes.
  var limit = 16 << 10
  /// The bytes of a message that are still to be skipped.
  private var skipped = 0

  init(_ version: MQTTVersion) { self.version = version }

  /// The next packet; nil if it is not complete.
  mutating func next(in buffer: inout ByteBuffer) throws(MQTTError) -> MQTTPacket? {
    while true {
      let count = min(skipped, buffer.readableBytes)
      buffer.moveReaderIndex(forwardBy: count)
      skipped -= count
      guard skipped == 0, let (type, length, headerLength) = try Self.header(in: buffer) else { return nil }
      guard length <= limit else {
        guard type >> 4 == Kind.publish else {
          throw .violation("a packet of type \(type >> 4) and \(length) bytes")
        }
        buffer.moveReaderIndex(forwardBy: headerLength)
        skipped = length
        continue
      }
      guard buffer.readableBytes >= headerLength + length else { return nil }
      buffer.moveReaderIndex(forwardBy: headerLength)
      guard var body = buffer.readSlice(length: length) else { return nil }
      return try packet(type, &body)
    }
  }

  /// The first byte, and the lengths of the body and of the header; nil if the header is not complete.
  private static func header(in buffer: ByteBuffer) throws(MQTTError) -> (UInt8, length: Int, header: Int)? {
    let bytes = buffer.readableBytesView
    guard let type = bytes.first else { return nil }
    // Data that is not MQTT is rejected at once.
    guard type >> 4 == Kind.publish || Kind.answers.contains(type) else {
      throw .violation("a packet that begins with \(type)")
    }
    var length = 0
    for (index, byte) in bytes.dropFirst().prefix(4).enumerated() {
      length |= Int(byte & 0x7F) << (7 * index)
      if byte & 0x80 == 0 { return (type, length, 2 + index) }
      if index == 3 { throw .violation("a length of more than 4 bytes") }
    }
    return nil
  }

  private func packet(_ type: UInt8, _ body: inout ByteBuffer) throws(MQTTError) -> MQTTPacket {
    switch type {
    case Kind.connectAnswer:
      guard body.readInteger(as: UInt8.self) != nil, let code = body.readInteger(as: UInt8.self) else {
        throw .violation("a short CONNACK")
      }
      return .answeredConnect(code: code)
    case Kind.publishAnswer:
      guard let id = body.readInteger(as: UInt16.self) else { throw .violation("a short PUBACK") }
      return .answeredPublish(id: id, code: body.readInteger() ?? 0)
    case Kind.subscribeAnswer:
      guard body.readInteger(as: UInt16.self) != nil else { throw .violation("a short SUBACK") }
      try skipProperties(&body)
      return .answeredSubscribe(codes: Array(body.readableBytesView))
    case Kind.pingAnswer: return .answeredPing
    case Kind.disconnect: return .disconnected(code: body.readInteger() ?? 0)
    default: return .message(try message(type & 0x0F, &body))
    }
  }

  /// A message at QoS 0, the only one that is subscribed to.
  private func message(_ flags: UInt8, _ body: inout ByteBuffer) throws(MQTTError) -> MQTTMessage {
    guard flags & 0x06 == 0 else { throw .violation("a message of another QoS than was subscribed to") }
    guard let length = body.readInteger(as: UInt16.self), let topic = body.readString(length: Int(length))
    else { throw .violation("a message without its topic") }
    try skipProperties(&body)
    return MQTTMessage(
      topic: topic, payload: Array(body.readableBytesView), isRetained: flags & 0x01 != 0)
  }

  private func skipProperties(_ body: inout ByteBuffer) throws(MQTTError) {
    guard version == .v5 else { return }
    var length = 0
    for index in 0..<4 {
      guard let byte = body.readInteger(as: UInt8.self) else { throw .violation("no properties") }
      length |= Int(byte & 0x7F) << (7 * index)
      if byte & 0x80 == 0 { break }
    }
    guard length <= body.readableBytes else { throw .violation("properties beyond the packet's end") }
    body.moveReaderIndex(forwardBy: length)
  }

  /// The first bytes of packets. Of a message, only the upper half is fixed.
  private enum Kind {
    static let connectAnswer: UInt8 = 0x20
    static let publish: UInt8 = 0x3
    static let publishAnswer: UInt8 = 0x40
    static let subscribeAnswer: UInt8 = 0x90
    static let pingAnswer: UInt8 = 0xD0
    static let disconnect: UInt8 = 0xE0

    static let answers = [connectAnswer, publishAnswer, subscribeAnswer, pingAnswer, disconnect]
  }
}

/// A packet from a client.
enum MQTTCommand: Sendable {
  case connect(MQTTIntroduction)
  /// At QoS 1.
  case publish(MQTTMessage, id: UInt16)
  /// At QoS 0.
  case subscribe([String])
  case ping
  case disconnect

  /// The packet as bytes. MQTT allows 256 MiB, far more than any packet here.
  func bytes(_ version: MQTTVersion) -> ByteBuffer {
    var body = ByteBuffer()
    let type: UInt8
    switch self {
    case .connect(let introduction):
      type = 0x10
      introduction.write(into: &body, version)
    case .publish(let message, let id):
      type = 0x32 | (message.isRetained ? 1 : 0)
      body.reserveCapacity(message.payload.count + message.topic.utf8.count + 8)
      body.writeText(message.topic)
      body.writeInteger(id)
      if version == .v5 { body.writeInteger(0 as UInt8) }
      body.writeBytes(message.payload)
    case .subscribe(let patterns):
      type = 0x82
      body.writeInteger(1 as UInt16)
      if version == .v5 { body.writeInteger(0 as UInt8) }
      for pattern in patterns {
        body.writeText(pattern)
        body.writeInteger(0 as UInt8)
      }
    case .ping: type = 0xC0
    case .disconnect: type = 0xE0
    }
    var packet = ByteBuffer()
    packet.reserveCapacity(body.readableBytes + 5)
    packet.writeInteger(type)
    var rest = body.readableBytes
    repeat {
      packet.writeInteger(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
    packet.writeBuffer(&body)
    return packet
  }
}

/// Identifies the client, and contains the will that the server publishes when the client is lost.
struct MQTTIntroduction: Sendable {
  let id: String
  let user: String?
  let password: String?
  let will: MQTTMessage
  /// The server considers the client lost after one and a half times this without a packet.
  let keepAlive: Duration

  fileprivate func write(into body: inout ByteBuffer, _ version: MQTTVersion) {
    body.writeText("MQTT")
    body.writeInteger(version.rawValue)
    // A clean session; the will has QoS 1.
    var flags: UInt8 = 0x02 | 0x04 | 0x08
    if will.isRetained { flags |= 0x20 }
    if password != nil { flags |= 0x40 }
    if user != nil { flags |= 0x80 }
    body.writeInteger(flags)
    body.writeInteger(UInt16(clamping: max(1, keepAlive.components.seconds)))
    if version == .v5 { body.writeInteger(0 as UInt8) }
    body.writeText(id)
    if version == .v5 { body.writeInteger(0 as UInt8) }
    body.writeText(will.topic)
    body.writeInteger(UInt16(clamping: will.payload.count))
    body.writeBytes(will.payload.prefix(Int(UInt16.max)))
    if let user { body.writeText(user) }
    if let password { body.writeText(password) }
  }
}

extension ByteBuffer {
  /// Writes a text after its length. Bytes beyond 65,535 are cut off.
  fileprivate mutating func writeText(_ text: String) {
    let bytes = Array(text.utf8.prefix(Int(UInt16.max)))
    writeInteger(UInt16(bytes.count))
    writeBytes(bytes)
  }
}
