// What went wrong between a frame and its pictures, in one line.

/// A frame that the GPU could not draw.
public struct RenderError: Error, Hashable, CustomStringConvertible {
  /// What was being done, on which device, and what the driver said.
  public let description: String

  init(_ description: String) { self.description = description }
}
