// The face that the GPU's renderer and the CPU's reference share.

/// Carries out plans.
public protocol Renderer: Sendable {
  /// What can go wrong; `Never` for the reference.
  associatedtype Failure: Error

  /// Draws all views of `plan` from one frame.
  ///
  /// - Parameters:
  ///   - frame: of the format that the plan was made for.
  ///   - plan: what to draw.
  /// - Returns: a picture for each view, in the plan's order.
  /// - Throws: `Failure`, where the frame can't be drawn.
  func render(_ frame: Frame, _ plan: RenderPlan) async throws(Failure) -> [Picture]
}
