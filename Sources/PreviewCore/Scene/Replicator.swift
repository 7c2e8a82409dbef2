// One tile drawn many times, each a step further: what Core Animation's CAReplicatorLayer does.

/// Draws a tile several times. Instance 0 is the tile as it is; each further one lies above the one before it, and is
/// changed once more.
public struct Replicator: Sendable, Hashable {
  /// 1...64.
  public var instanceCount: Int
  /// From an instance to the next, about the tile's centre; instance n is transformed n times.
  public var transform: AffineTransform
  /// Added to the codes of R', G' and B' from an instance to the next.
  public var colorOffset: SIMD3<Double>
  /// What codes are multiplied by from an instance to the next, before `colorOffset` is added; 0...16.
  public var colorScale: SIMD3<Double>
  /// Added to the opacity from an instance to the next, -1...1.
  public var opacityOffset: Double
  /// How much older each instance's frame is than the one's before; all of them together at most `longestDelay`.
  public var delay: Duration

  /// Copies that are all alike, unless said otherwise.
  public init(
    instanceCount: Int, transform: AffineTransform = .identity, colorOffset: SIMD3<Double> = [0, 0, 0],
    colorScale: SIMD3<Double> = [1, 1, 1], opacityOffset: Double = 0, delay: Duration = .zero
  ) {
    self.instanceCount = instanceCount
    self.transform = transform
    self.colorOffset = colorOffset
    self.colorScale = colorScale
    self.opacityOffset = opacityOffset
    self.delay = delay
  }

  /// How many instances there may be.
  public static let instances = 1...64
  /// How old the oldest instance's frame may be at most.
  public static let longestDelay = Duration.seconds(10)
}
