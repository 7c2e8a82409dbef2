// Commands that a client sends. Every command is validated before it is written, so that no name can inject
// another command.
package import NIOCore

/// A command of a client.
package enum NATSCommand: Equatable, Sendable {
  /// Options as a single line of JSON.
  case connect(String)
  /// A message, as PUB, or as HPUB if it has headers.
  case publish(NATSMessage)
  /// A subscription. The server delivers its messages under `id`. In a queue group, each message goes to one
  /// member.
  case subscribe(String, queue: String?, id: UInt64)
  /// The end of the subscription `id`.
  case unsubscribe(UInt64)
  /// A request for PONG, which the server sends after it has processed everything sent before.
  case ping
  /// The reply to the server's PING.
  case pong

  /// Writes the command.
  ///
  /// - Throws: `NATSError.invalidSubject` or `.invalidHeader`. The buffer is unchanged then.
  package func write(into buffer: inout ByteBuffer) throws(NATSError) {
    switch self {
    case .connect(let json):
      guard json.utf8.allSatisfy({ $0 >= 0x20 }) else {
        throw .invalidConfiguration("CONNECT is more than a line")
      }
      buffer.writeString("CONNECT \(json)\r\n")
    case .publish(let message): try write(message, into: &buffer)
    case .subscribe(let pattern, let queue, let id):
      try NATSSubject.checkPattern(pattern)
      if let queue { try NATSSubject.checkQueue(queue) }
      buffer.writeString("SUB \(pattern) \(queue.map { $0 + " " } ?? "")\(id)\r\n")
    case .unsubscribe(let id): buffer.writeString("UNSUB \(id)\r\n")
    case .ping: buffer.writeString("PING\r\n")
    case .pong: buffer.writeString("PONG\r\n")
    }
  }

  private func write(_ message: NATSMessage, into buffer: inout ByteBuffer) throws(NATSError) {
    try NATSSubject.check(message.subject)
    if let reply = message.reply { try NATSSubject.check(reply) }
    let words = message.subject + (message.reply.map { " " + $0 } ?? "")
    if message.headers.isEmpty {
      buffer.writeString("PUB \(words) \(message.payload.count)\r\n")
    } else {
      var headers = ByteBuffer()
      try message.headers.write(into: &headers)
      let count = headers.readableBytes
      buffer.writeString("HPUB \(words) \(count) \(count + message.payload.count)\r\n")
      buffer.writeBuffer(&headers)
    }
    buffer.writeBytes(message.payload)
    buffer.writeString("\r\n")
  }
}
