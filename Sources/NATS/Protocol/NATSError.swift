// Errors of the client and of the protocol.

/// An error of the client.
package enum NATSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A subject, pattern or queue group that is not valid as a single word of a protocol line.
  case invalidSubject(String)
  /// A header name or value that does not fit in one line.
  case invalidHeader(String)
  /// An invalid name of a stream, consumer, bucket or key.
  case invalidName(String)
  /// An address, a seed or a TLS file in the configuration is unusable.
  case invalidConfiguration(String)
  /// Headers and payload exceed the server's limit, in bytes.
  case payloadTooLarge(Int, limit: Int)
  /// `NATSConfiguration.maximumPendingBytes` are waiting to be sent. The message was not accepted.
  case bufferFull(limit: Int)
  /// A request's subject has no subscriber, so no client received the request.
  case noResponders
  /// No reply arrived in time. The request may still have been carried out.
  case timeout
  /// The task was cancelled.
  case cancelled
  /// The connection was lost before the reply arrived. The request may have been carried out.
  case disconnected
  /// The client is closed, or is draining and accepts no new subscriptions.
  case closed
  /// A server could not be reached, or closed the connection.
  case connection(String)
  /// TLS could not be set up, or the server's certificate is not trusted.
  case tls(String)
  /// The server violated the protocol.
  case protocolViolation(NATSProtocolError)
  /// The server refused the credentials, with its error text.
  case authentication(String)
  /// The server refused a subscription, with its error text.
  case permission(String)
  /// The server ended the connection with this error text.
  case server(String)
  /// The server stopped answering PING.
  case stale
  /// The server is shutting down and asked its clients to leave.
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
    case .server(let text): "error of the server: \(text)"
    case .stale: "stale connection: PING was not answered"
    case .lameDuck: "the server is shutting down"
    }
  }
}

/// A violation of the protocol by the server. It ends the connection.
package enum NATSProtocolError: Error, Equatable, Sendable {
  /// A control line is longer than allowed, in bytes.
  case lineTooLong(limit: Int)
  /// A control line ends in a bare LF.
  case noCarriageReturn
  /// An operation that servers don't send.
  case unknownOperation
  /// An operation with the wrong number of words.
  case wrongArguments
  /// Something other than a decimal number, or one with too many digits.
  case badNumber
  /// A message larger than allowed.
  case payloadTooLarge(Int, limit: Int)
  /// The size of the headers exceeds the size of the message.
  case headerBeyondPayload
  /// CR LF is missing after a payload.
  case noEndOfPayload
  /// INFO is not valid JSON, or has values of the wrong type.
  case badInfo
  /// The first operation is not INFO.
  case noGreeting
  /// Clear-text bytes follow the INFO that announces TLS. An attacker may have injected them.
  case bytesBeforeTLS
}
