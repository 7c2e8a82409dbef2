// Bytes as the RFCs write them.

extension [UInt8] {
  /// Of pairs of hexadecimal digits.
  init(_ hexadecimal: String) {
    let digits = hexadecimal.compactMap(\.hexDigitValue)
    self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
