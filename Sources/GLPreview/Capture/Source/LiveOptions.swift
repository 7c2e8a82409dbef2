// How patient a live source is, and what it does with pictures that nobody has asked for yet.

/// How a live source behaves.
public struct LiveOptions: Sendable, Hashable {
  /// What becomes of pictures that come faster than they are asked for.
  public enum Delivery: Sendable, Hashable {
    /// The newest is kept, those before it are dropped and counted: for previews.
    case newest
    /// All wait, in at most so many bytes; then the source is not read any more: a pipe's writer waits, a camera drops.
    case every(maximumBytes: Int)
  }

  /// What becomes of pictures that come faster than they are asked for. The newest unless told.
  public var delivery: Delivery
  /// Without a picture for that long a source is stalled. 2 seconds unless told.
  public var stallsAfter: Duration
  /// Without a picture for that long the connection is given up and made anew. 10 seconds unless told.
  public var reconnectsAfter: Duration
  /// How long a connection may take to be made. 10 seconds unless told.
  public var connectsWithin: Duration
  /// How long to try to get a lost source back, from its last picture or the first attempt on; then `nextFrame` throws why.
  /// Zero throws at the first failure; nil, the default, never gives up, but where no attempt can go better.
  public var givesUpAfter: Duration?

  /// The newest picture, patiently.
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
