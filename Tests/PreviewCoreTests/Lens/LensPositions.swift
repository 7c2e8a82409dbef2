// For the tests of lenses: seeded random numbers, distances, and errors as text.
import PreviewCore

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  mutating func point(in size: Size) -> SIMD2<Double> {
    [
      Double.random(in: 0...Double(size.width), using: &self),
      Double.random(in: 0...Double(size.height), using: &self),
    ]
  }
}

/// Returns the distance between two points along the axis along which it is larger; infinite without a point.
func distance(_ one: SIMD2<Double>?, _ other: SIMD2<Double>) -> Double {
  guard let one else { return .infinity }
  return max(abs(one.x - other.x), abs(one.y - other.y))
}

/// Returns the error of a call as text; nil if there is none.
func refusal(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return "\(error)"
  }
}
