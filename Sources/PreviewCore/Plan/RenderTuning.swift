// What a device is good at, as a value: chosen where devices are known, read by the planner.

/// A renderer's limits and preferences.
public struct RenderTuning: Sendable, Hashable {
  /// The longest side of a target, in pixels.
  public let maximumTargetSide: Int
  /// Taps of one sample of one signal (columns times rows) up to which both axes are summed up in one pass;
  /// beyond, one axis is summed up first, into an intermediate of 32-bit floats.
  public let maximumDirectTaps: Int
  /// How areas are summed up where that can be done several outputs at a time.
  package let boxes: BoxPacking
  /// How samples come to the device and pictures from it.
  package let transfer: FrameTransfer
  /// Whether the device has a clock of its own that tells what passes cost.
  public let timesPasses: Bool

  /// Limits as given.
  package init(
    maximumTargetSide: Int, maximumDirectTaps: Int = 64, boxes: BoxPacking = .texels,
    transfer: FrameTransfer = .direct, timesPasses: Bool = false
  ) {
    self.maximumTargetSide = maximumTargetSide
    self.maximumDirectTaps = maximumDirectTaps
    self.boxes = boxes
    self.transfer = transfer
    self.timesPasses = timesPasses
  }

  /// How many frames are worth drawing at the same time; at least 1.
  public var framesInFlight: Int {
    switch transfer {
    case .direct: 1
    case .buffered(let framesInFlight): max(1, framesInFlight)
    }
  }

  /// No limits: the reference renderer's.
  public static let unlimited = RenderTuning(
    maximumTargetSide: .max, maximumDirectTaps: .max, boxes: .none)
}

/// How many outputs a shader sums up at once.
package enum BoxPacking: Sendable, Hashable {
  /// One: tap by tap.
  case none
  /// Four, from textures with four bytes a texel.
  case texels
  /// Sixteen, or eight pixels, from buffers of whole words where boxes repeat evenly; else four. For renderers that are software.
  case words
}

/// The way of a frame's samples to a device, and of its pictures back.
package enum FrameTransfer: Sendable, Hashable {
  /// Straight between memory and textures, and finished before the next frame begins: for renderers that are software,
  /// to which a buffer in between is one more copy.
  case direct
  /// Through buffers that the device empties and fills while the CPU does something else. So many frames, at least one,
  /// are on their way at the same time.
  case buffered(framesInFlight: Int)
}
