// What a device is good at, as a value: chosen where devices are known, read by the planner.

/// A renderer's limits and preferences.
public struct RenderTuning: Sendable, Hashable {
  /// The longest side of a target, in pixels.
  public let maximumTargetSide: Int
  /// Taps of one sample of one signal (columns times rows) up to which both axes are summed up in one pass;
  /// beyond, one axis is summed up first, into an intermediate of 32-bit floats.
  public let maximumDirectTaps: Int

  /// Whether areas are summed up four outputs at a time where that can be.
  public let packsBoxes: Bool

  /// Limits as given.
  public init(maximumTargetSide: Int, maximumDirectTaps: Int = 64, packsBoxes: Bool = true) {
    self.maximumTargetSide = maximumTargetSide
    self.maximumDirectTaps = maximumDirectTaps
    self.packsBoxes = packsBoxes
  }

  /// No limits: the reference renderer's.
  public static let unlimited = RenderTuning(
    maximumTargetSide: .max, maximumDirectTaps: .max, packsBoxes: false)
}
