// What a client sends. A command checks its words before it writes, so that no name can end its line or add a word to it.
package import NIOCore

/// A command of a client.
package enum NATSCommand: Equatable, Sendable {
  /// Options as JSON in one line.
  case connect(String)
  /// A message: PUB, or HPUB where it has headers.
  case publish(NATSMessage)
  /// Messages of a pattern, shared with others of the queue group if there is one; the server names them by `id`.
  case subscribe(String, queue: String?, id: UInt64)
  /// No more messages for `id`.
  case unsubscribe(UInt64)
  /// Wants PONG once the server has seen all that was sent before.
  case ping
  /// The answer to the server's PING.
  case pong

  /// Writes the command.
  ///
  /// - Throws: `NATSError.invalidSubject` or `.invalidHeader`. The buffer is as before then.
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
