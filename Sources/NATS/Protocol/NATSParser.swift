// Parses a server's data, which arrives in pieces of any size. Sizes and numbers are checked before they are
// used.
package import NIOCore

/// An incremental parser of a server's data. Between calls, it buffers at most one incomplete operation,
/// within its limits.
package struct NATSParser: Sendable {
  /// The largest sizes accepted, in bytes.
  package struct Limits: Sendable, Equatable {
    /// The longest control line, except INFO.
    package var line = 4096
    /// The longest INFO line. INFO names all servers of a cluster.
    package var info = 1 << 16
    /// The largest message with its headers. Each server announces its own limit in INFO.
    package var payload = 1 << 20
    /// The largest headers of a message. A message with larger headers is unreadable.
    package var headers = 1 << 16

    /// Creates limits with the servers' defaults.
    package init() {}
  }

  /// An operation of a server.
  package enum Operation: Equatable, Sendable {
    case info(ServerInfo)
    /// A message for a subscription.
    case message(NATSMessage, subscription: UInt64)
    /// A message with an invalid subject or invalid headers. This is an error of its publisher, not of the
    /// server, so the connection continues without the message.
    case unreadable(subscription: UInt64)
    case ping
    case pong
    case ok
    /// The text of an error.
    case error(String)
  }

  package var limits: Limits
  private var buffer = ByteBuffer()
  /// The number of bytes that have been searched for the end of the line.
  private var scanned = 0
  private var head: Head?
  private var failure: NATSProtocolError?

  /// The line before a payload.
  private struct Head {
    let subject: ArraySlice<UInt8>
    let reply: ArraySlice<UInt8>?
    let subscription: UInt64
    let headers: Int
    let total: Int
  }

  /// Creates a parser for a new connection.
  package init(limits: Limits = Limits()) { self.limits = limits }

  /// The number of bytes that belong to an incomplete operation.
  package var bufferedBytes: Int { buffer.readableBytes }

  /// Appends received bytes.
  package mutating func append(_ bytes: ByteBuffer) {
    guard failure == nil else { return }
    guard buffer.readableBytes > 0 else { return buffer = bytes }
    buffer.discardReadBytes()
    buffer.writeImmutableBuffer(bytes)
  }

  /// Returns the next operation, or nil if more bytes are needed.
  ///
  /// - Throws: if the bytes violate the protocol. Every later call throws the same error.
  package mutating func next() throws(NATSProtocolError) -> Operation? {
    if let failure { throw failure }
    do {
      if head == nil {
        guard let line = try line() else { return nil }
        if let operation = try operation(line) { return operation }
      }
      guard let head else { return nil }
      return try message(head)
    } catch {
      failure = error
      buffer = ByteBuffer()
      throw error
    }
  }

  /// Returns the next line without CR LF, or nil if it is incomplete.
  private mutating func line() throws(NATSProtocolError) -> [UInt8]? {
    let bytes = buffer.readableBytesView
    let isInfo = bytes.prefix(5).elementsEqual("INFO ".utf8) { $0 & 0xDF == $1 & 0xDF }
    let limit = isInfo ? limits.info : limits.line
    let end = bytes[(bytes.startIndex + scanned)...].firstIndex(of: 0x0A)
    guard (end ?? bytes.endIndex) - bytes.startIndex <= limit else { throw .lineTooLong(limit: limit) }
    guard let end else {
      scanned = bytes.count
      return nil
    }
    let line = Array(bytes[..<end])
    buffer.moveReaderIndex(forwardBy: line.count + 1)
    scanned = 0
    guard line.last == 0x0D else { throw .noCarriageReturn }
    return line.dropLast()
  }

  /// Returns the operation of a line, or nil for the head of a message.
  private mutating func operation(_ line: [UInt8]) throws(NATSProtocolError) -> Operation? {
    let words = line.split { $0 == 0x20 || $0 == 0x09 }
    guard let name = words.first else { throw .unknownOperation }
    switch String(decoding: name, as: UTF8.self).uppercased() {
    case "MSG": head = try Self.head(words.dropFirst(), hasHeaders: false)
    case "HMSG": head = try Self.head(words.dropFirst(), hasHeaders: true)
    case "PING": return .ping
    case "PONG": return .pong
    case "+OK": return .ok
    case "-ERR":
      let text = String(decoding: line[name.endIndex...], as: UTF8.self)
      return .error(String(text.drop { " '".contains($0) }.reversed().drop { " '".contains($0) }.reversed()))
    case "INFO": return .info(try ServerInfo(json: line[name.endIndex...]))
    default: throw .unknownOperation
    }
    guard let total = head?.total, total <= limits.payload else {
      throw .payloadTooLarge(head?.total ?? 0, limit: limits.payload)
    }
    return nil
  }

  /// Parses `subject id [reply] [bytes of headers] bytes`.
  private static func head(
    _ words: ArraySlice<ArraySlice<UInt8>>, hasHeaders: Bool
  ) throws(NATSProtocolError) -> Head {
    let words = Array(words)
    let fixed = hasHeaders ? 4 : 3
    guard (fixed...fixed + 1).contains(words.count) else { throw .wrongArguments }
    let total = try number(words[words.count - 1])
    let headers = hasHeaders ? try number(words[words.count - 2]) : 0
    guard headers <= total else { throw .headerBeyondPayload }
    return Head(
      subject: words[0], reply: words.count > fixed ? words[2] : nil,
      subscription: UInt64(try number(words[1])), headers: headers, total: total)
  }

  /// Parses a number. Accepts only digits, at most 18, which can't overflow.
  private static func number(_ word: ArraySlice<UInt8>) throws(NATSProtocolError) -> Int {
    guard word.count <= 18, word.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .badNumber }
    return word.reduce(0) { $0 * 10 + Int($1 & 15) }
  }

  /// Returns the message after its head, or nil if it is incomplete.
  private mutating func message(_ head: Head) throws(NATSProtocolError) -> Operation? {
    guard buffer.readableBytes >= head.total + 2 else { return nil }
    guard let headers = buffer.readBytes(length: head.headers),
      let payload = buffer.readBytes(length: head.total - head.headers),
      buffer.readBytes(length: 2) == [0x0D, 0x0A]
    else { throw .noEndOfPayload }
    self.head = nil
    guard let subject = String(validating: head.subject, as: UTF8.self),
      let reply = String(validating: head.reply ?? [], as: UTF8.self), headers.count <= limits.headers,
      let parsed = headers.isEmpty ? NATSHeaders() : NATSHeaders(headers)
    else { return .unreadable(subscription: head.subscription) }
    let message = NATSMessage(
      subject, reply: reply.isEmpty ? nil : reply, headers: parsed, payload: payload)
    return .message(message, subscription: head.subscription)
  }
}
