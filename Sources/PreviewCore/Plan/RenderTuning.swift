// A device's limits and preferences as a value: chosen per device, read by the planner.

/// A renderer's limits and preferences.
package struct RenderTuning: Sendable, Hashable {
  /// The longest side of a target, in pixels.
  package let maximumTargetSide: Int
  /// Where shaders read a frame, and how many outputs a fragment computes.
  package var boxes: BoxPacking
  /// The number of drawings of one kind, ratio and alignment before a program is compiled for them. Until
  /// then, and where such a program does not pay off, generic programs draw the same picture.
  package var specialisesAfter: Int
  /// Whether a transparent frame is blended whole before it is read, so that it pays to look for one that is opaque.
  package let blendsFrames: Bool
  /// How samples are uploaded and pictures downloaded.
  package let transfer: FrameTransfer
  /// Whether the device has timer queries that measure passes.
  package let timesPasses: Bool
  /// The shaders that draw frames in textures; nil for the faster ones, which a renderer finds out when it opens.
  package var passes: PassMethod?
  /// Whether the content of reused targets is declared undefined: for GPUs that draw tile by tile, which would load it.
  package var discardsTargets: Bool
  /// Whether pictures are coded as JPEG by compute shaders on request; nil if a renderer finds that out when it opens.
  /// Requires OpenGL ES 3.1 and buffered transfers.
  package var codesJPEG: Bool? = false
  /// For tests: whether memory of other devices is read by external samplers even where others read it.
  package var importsExternally = false

  package init(
    maximumTargetSide: Int, boxes: BoxPacking = .texels, specialisesAfter: Int = 8,
    blendsFrames: Bool = false, transfer: FrameTransfer = .direct, timesPasses: Bool = false,
    passes: PassMethod? = .fragments, discardsTargets: Bool = false
  ) {
    self.maximumTargetSide = maximumTargetSide
    self.boxes = boxes
    self.specialisesAfter = specialisesAfter
    self.blendsFrames = blendsFrames
    self.transfer = transfer
    self.timesPasses = timesPasses
    self.passes = passes
    self.discardsTargets = discardsTargets
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
    maximumTargetSide: .max, boxes: .none)
}

/// Where shaders read a frame, and how many outputs a fragment computes.
package enum BoxPacking: Sendable, Hashable {
  /// Nowhere: the reference renderer.
  case none
  /// In textures of four-byte texels; four outputs.
  case texels
  /// In buffers; sixteen outputs, or eight pixels, where boxes repeat evenly, otherwise four. For software
  /// renderers.
  case words
}

/// How samples reach a device and pictures return.
package enum FrameTransfer: Sendable, Hashable {
  /// Directly between memory and textures, one frame at a time. For software renderers, where a buffer in
  /// between would only add a copy.
  case direct
  /// Through buffers that the device reads and writes while the CPU does other work. `framesInFlight`, at
  /// least 1, is the number of frames under way at the same time.
  case buffered(framesInFlight: Int)
}

/// The kind of shaders that draw.
package enum PassMethod: String, Sendable, Hashable, CaseIterable {
  /// Fragment shaders, in one or two passes.
  case fragments
  /// Compute shaders, where there are some for a drawing; otherwise fragment shaders. Requires OpenGL ES 3.1.
  case compute
}
