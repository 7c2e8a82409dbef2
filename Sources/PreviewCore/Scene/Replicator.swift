// Draws one tile many times with a step in between, like Core Animation's CAReplicatorLayer.

/// Draws several instances of a tile. Instance 0 is the unchanged tile. Each further instance is drawn above
/// the previous and changed once more.
public struct Replicator: Sendable, Hashable {
  /// The number of instances, 1...64.
  public var instanceCount: Int
  /// Applied about the tile's centre from one instance to the next; n times for instance n.
  public var transform: AffineTransform
  /// Added to the codes of R', G' and B' from one instance to the next.
  public var colorOffset: SIMD3<Double>
  /// Multiplies codes from one instance to the next, before `colorOffset` is added; 0...16.
  public var colorScale: SIMD3<Double>
  /// Added to the opacity from one instance to the next; -1...1.
  public var opacityOffset: Double
  /// The added age of each instance's frame; in total at most 10 seconds.
  public var delay: Duration

  /// Creates a replicator. By default all instances are alike.
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

  /// The allowed numbers of instances.
  package static let instances = 1...64
  /// The largest age of the oldest instance's frame.
  package static let longestDelay = Duration.seconds(10)
}
