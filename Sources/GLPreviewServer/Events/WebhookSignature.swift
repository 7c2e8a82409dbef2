// Signs messages, so that a receiver can verify their origin and time.
internal import Crypto
internal import GLPreview

/// `X-GLPreview-Signature`: HMAC-SHA256 with the shared secret, over the timestamp, a dot and the body.
enum WebhookSignature {
  /// - Parameters:
  ///   - body: the message.
  ///   - timestamp: `X-GLPreview-Timestamp`, decimal seconds since 1970. It is signed too, to prevent replays of old
  ///     messages.
  ///   - secret: the key, UTF-8.
  /// - Returns: `sha256=` and 64 hexadecimal digits.
  static func text(of body: [UInt8], timestamp: String, secret: String) -> String {
    var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
    code.update(data: Array("\(timestamp).".utf8))
    code.update(data: body)
    return "sha256=" + Hexadecimal.text(of: code.finalize())
  }
}
