// Encodes bytes as text: base64 for JSON, web pages and HTTP passwords (RFC 4648, 4), hexadecimal for digests
// and keys.

/// Base64 with padding, in one line.
package enum Base64 {
  /// Returns four ASCII characters for each three bytes.
  package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var text = [UInt8](repeating: UInt8(ascii: "="), count: (bytes.count + 2) / 3 * 4)
    var output = text.mutableSpan
    let input = bytes.span
    let whole = bytes.count / 3
    for group in 0..<whole {
      let number =
        UInt32(input[3 * group]) << 16 | UInt32(input[3 * group + 1]) << 8 | UInt32(input[3 * group + 2])
      output[4 * group] = character(number >> 18)
      output[4 * group + 1] = character(number >> 12)
      output[4 * group + 2] = character(number >> 6)
      output[4 * group + 3] = character(number)
    }
    switch bytes.count - 3 * whole {
    case 1:
      let number = UInt32(input[3 * whole]) << 16
      output[4 * whole] = character(number >> 18)
      output[4 * whole + 1] = character(number >> 12)
    case 2:
      let number = UInt32(input[3 * whole]) << 16 | UInt32(input[3 * whole + 1]) << 8
      output[4 * whole] = character(number >> 18)
      output[4 * whole + 1] = character(number >> 12)
      output[4 * whole + 2] = character(number >> 6)
    default: break
    }
    return text
  }

  /// Returns the character for the lowest six bits. Computed by additions instead of a table, so that it can
  /// be vectorised.
  @inline(__always)
  private static func character(_ number: UInt32) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: number & 63)
    // A...Z, a...z, 0...9, + and /.
    return value < 26
      ? value &+ 65 : value < 52 ? value &+ 71 : value < 62 ? value &- 4 : value == 62 ? 43 : 47
  }
}

package enum Hexadecimal {
  /// Returns two lower-case digits per byte.
  package static func text(of bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
