// Whole-number arithmetic and texts of numbers that the standard library lacks.

/// Returns the positive greatest common divisor of two integers that are not both 0.
func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
  var (divisor, rest) = (abs(a), abs(b))
  while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
  return divisor
}

/// Divides and rounds towards minus infinity.
func floorDivide(_ numerator: Int, by denominator: Int) -> Int {
  let quotient = numerator / denominator
  return numerator % denominator < 0 ? quotient - 1 : quotient
}

extension BinaryInteger {
  /// Returns the digits of a non-negative number, padded with zeros to at least `count`: 7 is `007` for 3.
  package func digits(_ count: Int, radix: Int = 10, uppercase: Bool = false) -> String {
    let text = String(self, radix: radix, uppercase: uppercase)
    return String(repeating: "0", count: max(count - text.count, 0)) + text
  }
}

extension Double {
  /// The number without a trailing `.0`, for messages: `1` instead of `1.0`.
  package var shortText: String { self == rounded() && abs(self) < 1e15 ? "\(Int(self))" : "\(self)" }
}
