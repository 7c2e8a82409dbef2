// Random numbers that are the same on every run, for tests that try many cases.
internal import Conformance

/// The generator of synthetic frames: a seed gives the same numbers everywhere.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  package init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { numbers.next() }

  /// Returns one of the elements; there must be at least one.
  package mutating func oneOf<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  /// Returns a number of a range.
  package mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  /// Returns true with a probability.
  package mutating func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &self) < chance }
}
