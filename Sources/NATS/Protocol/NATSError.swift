// What can go wrong between a program and a NATS server.

/// An error of the client.
package enum NATSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A subject, a pattern or a queue group that would not survive as one word of a protocol line.
  case invalidSubject(String)
  /// A header that would not survive as one line.
  case invalidHeader(String)
  /// A name of a stream, consumer, bucket or key that servers refuse.
  case invalidName(String)
  /// The configuration can't be used: an address, a seed, a certificate.
  case invalidConfiguration(String)
  /// Headers and payload together are longer than the server takes, in bytes.
  case payloadTooLarge(Int, limit: Int)
  /// More bytes wait to be sent than `NATSConfiguration.maximumPendingBytes`. The message was not taken.
  case bufferFull(limit: Int)
  /// Nobody subscribes to the subject of a request. Nobody has seen it.
  case noResponders
  /// The answer did not come in time. The request may have been carried out.
  case timeout
  /// The task was cancelled.
  case cancelled
  /// The connection ended before the answer came. The request may have been carried out.
  case disconnected
  /// The client is closed, or draining and takes no new subscriptions.
  case closed
  /// A server could not be reached, or closed the connection.
  case connection(String)
  /// TLS could not be set up, or the server's certificate is not trusted.
  case tls(String)
  /// The server broke the protocol.
  case protocolViolation(NATSProtocolError)
  /// The server refuses the credentials, in its own words.
  case authentication(String)
  /// The server refuses a subscription, in its own words.
  case permission(String)
  /// Another error of the server that ends a connection, in its own words.
  case server(String)
  /// The server no longer answers PING.
  case stale
  /// The server is about to shut down, and asked its clients to go elsewhere.
  case lameDuck

  package var description: String {
    switch self {
    case .invalidSubject(let text): "\"\(text)\" is not a valid subject here"
    case .invalidHeader(let text): "\"\(text)\" is not a valid header"
    case .invalidName(let text): "\"\(text)\" is not a valid name"
    case .invalidConfiguration(let text): text
    case .payloadTooLarge(let count, let limit): "\(count) bytes are more than the server's limit of \(limit)"
    case .bufferFull(let limit): "\(limit) bytes are waiting to be sent"
    case .noResponders: "no responders"
    case .timeout: "no answer in time"
    case .cancelled: "cancelled"
    case .disconnected: "the connection was lost before the answer came"
    case .closed: "the client is closed"
    case .connection(let text): text
    case .tls(let text): "TLS: \(text)"
    case .protocolViolation(let error): "protocol violation: \(error)"
    case .authentication(let text): "authentication refused: \(text)"
    case .permission(let text): "not permitted: \(text)"
    case .server(let text): "the server says: \(text)"
    case .stale: "stale connection: PING was not answered"
    case .lameDuck: "the server is shutting down"
    }
  }
}

/// What a server sent that is not the NATS protocol. It ends the connection.
package enum NATSProtocolError: Error, Equatable, Sendable {
  /// A control line is longer than allowed, in bytes.
  case lineTooLong(limit: Int)
  /// A control line ends in a bare LF.
  case noCarriageReturn
  /// An operation that servers don't send.
  case unknownOperation
  /// An operation with the wrong number of words.
  case wrongArguments
  /// A number that is none, is negative, or is beyond what it may be.
  case badNumber
  /// A message that announces more bytes than allowed.
  case payloadTooLarge(Int, limit: Int)
  /// The headers of a message would be longer than the message.
  case headerBeyondPayload
  /// CR LF is missing behind a payload.
  case noEndOfPayload
  /// The server's INFO is not the JSON that it must be.
  case badInfo
  /// Something other than INFO came first.
  case noGreeting
  /// Bytes in clear behind the INFO that announces TLS: somebody may have put them there.
  case bytesBeforeTLS
}
