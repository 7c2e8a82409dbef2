// Why a frame was not drawn.

/// A frame that the GPU could not draw.
public struct RenderError: Error, Hashable, CustomStringConvertible {
  /// The failed operation, the device and the driver's message.
  public let description: String

  /// Whether the context is lost with everything in it. A new renderer may work.
  public let isContextLost: Bool

  /// Whether the driver reported it; a plan for other frames, or a closed renderer, is not the device's fault.
  let isOfDevice: Bool

  /// The memory budget's error, if it had no room.
  let shortage: MemoryBudget.Exceeded?

  package var isOutOfMemory: Bool { shortage != nil }

  init(
    _ description: String, isContextLost: Bool = false, isOfDevice: Bool = false,
    shortage: MemoryBudget.Exceeded? = nil
  ) {
    self.description = description
    self.isContextLost = isContextLost
    self.isOfDevice = isOfDevice
    self.shortage = shortage
  }
}

extension RenderError: MemoryShortage {}
