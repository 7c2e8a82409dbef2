// The error of drawing a frame, in one line.

/// A frame that the GPU could not draw.
public struct RenderError: Error, Hashable, CustomStringConvertible {
  /// The failed operation, the device and the driver's message.
  public let description: String

  /// Whether the context is lost with everything in it. A new renderer may work.
  public let isContextLost: Bool

  /// The memory budget's error, if it had no room.
  let shortage: MemoryBudget.Exceeded?

  init(_ description: String, isContextLost: Bool = false, shortage: MemoryBudget.Exceeded? = nil) {
    self.description = description
    self.isContextLost = isContextLost
    self.shortage = shortage
  }
}
