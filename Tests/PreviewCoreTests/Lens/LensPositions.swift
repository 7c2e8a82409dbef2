// For the tests of lenses: seeded random numbers, distances, and errors as text.
import PreviewCore
import TestSupport

extension SeededGenerator {
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
