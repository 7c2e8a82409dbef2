// Frame rates as exact fractions, so that an hour of 30000/1001 does not drift.

package struct FrameRate: Sendable, Hashable {
  /// Frames per `denominator` seconds; positive.
  let numerator: Int
  /// Seconds; positive.
  let denominator: Int

  /// Nil unless both are 1...1,000,000,000.
  package init?(numerator: Int, denominator: Int) {
    guard (1...1_000_000_000).contains(numerator), (1...1_000_000_000).contains(denominator) else {
      return nil
    }
    self.numerator = numerator
    self.denominator = denominator
  }

  /// Rounds to a thousandth of a frame per second; nil unless within 0.001...1000.
  package init?(_ framesPerSecond: Double) {
    guard framesPerSecond >= 0.001, framesPerSecond <= 1000 else { return nil }
    self.init(numerator: Int((framesPerSecond * 1000).rounded()), denominator: 1000)
  }

  package var framesPerSecond: Double { Double(numerator) / Double(denominator) }

  package static let usual = FrameRate(numerator: 30)

  private init(numerator: Int) {
    self.numerator = numerator
    self.denominator = 1
  }

  /// Returns the time of frame `index`, to the nanosecond; frame 0 is at `.start`.
  package func time(of index: Int) -> CaptureInstant {
    // Whole periods first: index * denominator would overflow after some years.
    let (periods, frames) = index.quotientAndRemainder(dividingBy: numerator)
    let (seconds, rest) = (frames * denominator).quotientAndRemainder(dividingBy: numerator)
    return CaptureInstant(
      sinceStart: .seconds(periods * denominator + seconds) + .nanoseconds(rest * 1_000_000_000 / numerator))
  }
}
