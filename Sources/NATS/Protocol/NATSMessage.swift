// A message, published or received.

/// A message.
package struct NATSMessage: Equatable, Sendable {
  /// The subject it is published to.
  package var subject: String
  /// The subject for replies; nil if no reply is expected.
  package var reply: String?
  /// The headers; usually empty.
  package var headers: NATSHeaders
  /// The content. Servers limit it to 1 MiB by default.
  package var payload: [UInt8]

  /// Creates a message to publish.
  package init(
    _ subject: String, reply: String? = nil, headers: NATSHeaders = NATSHeaders(), payload: [UInt8] = []
  ) {
    self.subject = subject
    self.reply = reply
    self.headers = headers
    self.payload = payload
  }

  /// The approximate memory it takes in a buffer, in bytes.
  var cost: Int { payload.count + subject.utf8.count + 64 * (1 + headers.fields.count) }
}
