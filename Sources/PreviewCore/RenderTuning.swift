// What a device is good at, as a value: chosen where devices are known, read by the planner.

/// A renderer's limits and preferences.
public struct RenderTuning: Sendable, Hashable {
  /// The longest side of a target, in pixels.
  public let maximumTargetSide: Int
  /// Taps of one sample of one signal (columns times rows) up to which both axes are summed up in one pass;
  /// beyond, one axis is summed up first, into an intermediate of 32-bit floats.
  public let maximumDirectTaps: Int
  /// How areas are summed up where that can be done several outputs at a time.
  public let boxes: BoxPacking

  /// Limits as given.
  public init(maximumTargetSide: Int, maximumDirectTaps: Int = 64, boxes: BoxPacking = .texels) {
    self.maximumTargetSide = maximumTargetSide
    self.maximumDirectTaps = maximumDirectTaps
    self.boxes = boxes
  }

  /// No limits: the reference renderer's.
  public static let unlimited = RenderTuning(
    maximumTargetSide: .max, maximumDirectTaps: .max, boxes: .none)
}

/// How many outputs a shader sums up at once.
public enum BoxPacking: Sendable, Hashable {
  /// One: tap by tap.
  case none
  /// Four, from textures with four bytes a texel.
  case texels
  /// Sixteen, from buffers of whole words where boxes repeat evenly; else four. For renderers that are software.
  case words
}
