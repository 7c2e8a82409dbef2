// How a receiver knows that a message is ours, and of now.
internal import Crypto

/// `X-GLPreview-Signature`: HMAC-SHA256, by the secret that both know, over the timestamp, a dot and the body.
enum WebhookSignature {
  /// - Parameters:
  ///   - body: the message.
  ///   - timestamp: `X-GLPreview-Timestamp`, seconds since 1970 in digits; signed too, so that an old message can't be sent
  ///     again as a new one.
  ///   - secret: the key, UTF-8.
  /// - Returns: `sha256=` and 64 hexadecimal digits.
  static func text(of body: [UInt8], timestamp: String, secret: String) -> String {
    var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
    code.update(data: Array("\(timestamp).".utf8))
    code.update(data: body)
    return "sha256=" + Hexadecimal.text(of: code.finalize())
  }
}
