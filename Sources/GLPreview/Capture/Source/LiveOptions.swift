// The time limits of a live source, and what happens to pictures that nobody has requested yet.

/// The behaviour of a live source.
public struct LiveOptions: Sendable, Hashable {
  /// What happens to pictures that arrive faster than they are requested.
  public enum Delivery: Sendable, Hashable {
    /// Keeps the newest picture; earlier ones are dropped and counted. For previews.
    case newest
    /// Queues every picture, up to this many bytes. When full, a pipe's writer waits, and a camera drops pictures.
    case every(maximumBytes: Int)
  }

  /// What happens to pictures that arrive faster than they are requested. Default: the newest is kept.
  public var delivery: Delivery
  /// A source without a picture for this long is stalled. Default: 2 seconds.
  public var stallsAfter: Duration
  /// A connection without a picture for this long is closed and made again. Default: 10 seconds.
  public var reconnectsAfter: Duration
  /// The time limit for making a connection. Default: 10 seconds.
  public var connectsWithin: Duration
  /// How long to retry a lost source, counted from its last picture or the first attempt; then `nextFrame` throws the
  /// reason. Zero throws at the first failure. Nil, the default, never gives up unless no retry can succeed.
  public var givesUpAfter: Duration?

  /// Creates options. By default the newest picture is kept, and retries never end.
  public init(
    delivery: Delivery = .newest, stallsAfter: Duration = .seconds(2),
    reconnectsAfter: Duration = .seconds(10), connectsWithin: Duration = .seconds(10),
    givesUpAfter: Duration? = nil
  ) {
    self.delivery = delivery
    self.stallsAfter = stallsAfter
    self.reconnectsAfter = reconnectsAfter
    self.connectsWithin = connectsWithin
    self.givesUpAfter = givesUpAfter
  }
}
