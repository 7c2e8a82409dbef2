// A device's limits and preferences as a value: chosen per device, read by the planner.

/// A renderer's limits and preferences.
package struct RenderTuning: Sendable, Hashable {
  /// The longest side of a target, in pixels.
  package let maximumTargetSide: Int
  /// The most taps of one sample of one signal (columns times rows) that one pass reduces along both axes. Beyond it,
  /// one axis is reduced first, into an intermediate of 32-bit floats.
  package let maximumDirectTaps: Int
  /// How areas are reduced where several outputs can be computed at a time.
  package let boxes: BoxPacking
  /// How samples are uploaded and pictures downloaded.
  package let transfer: FrameTransfer
  /// Whether the device has timer queries that measure passes.
  package let timesPasses: Bool

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

  /// The number of frames worth drawing concurrently; at least 1.
  package var framesInFlight: Int {
    switch transfer {
    case .direct: 1
    case .buffered(let framesInFlight): max(1, framesInFlight)
    }
  }

  /// No limits, for the reference renderer.
  package static let unlimited = RenderTuning(
    maximumTargetSide: .max, maximumDirectTaps: .max, boxes: .none)
}

/// The number of outputs that a shader computes at once.
package enum BoxPacking: Sendable, Hashable {
  /// One, tap by tap.
  case none
  /// Four, from textures of four-byte texels.
  case texels
  /// Sixteen, or eight pixels, from word buffers where boxes repeat evenly; otherwise four. For software renderers.
  case words
}

/// How samples reach a device and pictures return.
package enum FrameTransfer: Sendable, Hashable {
  /// Directly between memory and textures, one frame at a time. For software renderers, where a buffer in between
  /// would only add a copy.
  case direct
  /// Through buffers that the device reads and writes while the CPU does other work. `framesInFlight`, at least 1, is
  /// the number of frames under way at the same time.
  case buffered(framesInFlight: Int)
}
