// Short names for byte sequences, for other targets of the package.

/// Short names that identify byte sequences.
package enum Digest {
  /// Returns the first 20 hexadecimal digits of the SHA-256 of `bytes`.
  package static func name(of bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(SHA256.sum(of: bytes).prefix(10).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
