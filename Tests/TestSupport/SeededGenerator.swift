// Random numbers that are the same on every run, for tests that try many cases.

/// SplitMix64 (Steele, Lea and Flood): a seed gives the same numbers everywhere.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// Returns one of the elements; there must be at least one.
  package mutating func oneOf<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  /// Returns a number of a range.
  package mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  /// Returns true with a probability.
  package mutating func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &self) < chance }
}
