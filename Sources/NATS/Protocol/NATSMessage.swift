// A message as it travels.

/// A message.
package struct NATSMessage: Equatable, Sendable {
  /// Where it was published.
  package var subject: String
  /// Where an answer is expected; nil where none is.
  package var reply: String?
  /// Empty unless the publisher or the server set some.
  package var headers: NATSHeaders
  /// Anything, at most what the server allows (1 MiB unless configured).
  package var payload: [UInt8]

  /// A message to publish.
  package init(
    _ subject: String, reply: String? = nil, headers: NATSHeaders = NATSHeaders(), payload: [UInt8] = []
  ) {
    self.subject = subject
    self.reply = reply
    self.headers = headers
    self.payload = payload
  }

  /// What it takes in a buffer, roughly, in bytes.
  var cost: Int { payload.count + subject.utf8.count + 64 * (1 + headers.fields.count) }
}
