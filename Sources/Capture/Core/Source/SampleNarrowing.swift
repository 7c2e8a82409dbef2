// Converts samples of more than 8 bits to 8 bits, in the same way for videos and Y4M.

/// Converts samples of up to 16 bits to 8-bit codes: ((sample >> shift & mask) * scale + offset) / 65536,
/// clamped to 0...255.
package struct SampleNarrowing: Sendable, Hashable {
  package let shift: UInt16
  package let mask: UInt16
  package let scale: Int32
  package let offset: Int32

  /// Converts from codes of `bits` bits to codes of 8 bits (H.273, 8.3: formulas 20 to 31 for both depths).
  ///
  /// In limited range, an 8-bit code is an n-bit code divided by 2^(n - 8). In full range, 2^n - 1 becomes
  /// 255, and chroma is scaled around its neutral code. `isHighAligned` means that samples use the upper bits
  /// of 16, as in P010.
  package init(
    bits: Int, isHighAligned: Bool = false, isChroma: Bool = false,
    _ range: ColorDescription.QuantizationRange
  ) {
    let largest = Double(1 << bits) - 1
    let isFull = range == .full
    let scale = ((isFull ? 255 / largest : 256 / (largest + 1)) * 65536).rounded()
    let neutral = isFull && isChroma ? 128 * 65536 - scale * (largest + 1) / 2 : 0
    shift = isHighAligned ? UInt16(16 - bits) : 0
    mask = UInt16(largest)
    self.scale = Int32(scale)
    offset = Int32(neutral) + 32768
  }

  /// Returns the 8-bit code of a sample.
  func code(of sample: UInt16) -> UInt8 {
    UInt8(min(max((Int(sample >> shift & mask) * Int(scale) + Int(offset)) >> 16, 0), 255))
  }
}
