// What went wrong between a frame and its pictures, in one line.

/// A frame that the GPU could not draw.
public struct RenderError: Error, Hashable, CustomStringConvertible {
  /// What was being done, on which device, and what the driver said.
  public let description: String

  /// Whether the context is lost, with all that was made in it: a new renderer may go on.
  public let isContextLost: Bool

  /// What the memory budget said, where that had no room.
  let shortage: MemoryBudgetExceeded?

  init(_ description: String, isContextLost: Bool = false, shortage: MemoryBudgetExceeded? = nil) {
    self.description = description
    self.isContextLost = isContextLost
    self.shortage = shortage
  }
}
