// The interface shared by the GPU renderer and the CPU reference renderer.

/// Executes plans.
package protocol Renderer: Sendable {
  /// The error type; `Never` for the reference renderer.
  associatedtype Failure: Error

  /// Draws all views of `plan` from one frame.
  ///
  /// - Parameters:
  ///   - frame: a frame of the plan's format.
  ///   - plan: the views to draw.
  /// - Returns: one picture per view, in the plan's order.
  /// - Throws: `Failure` if the frame can't be drawn.
  func render(_ frame: Frame, _ plan: RenderPlan) async throws(Failure) -> [Picture]

  /// Draws one picture of several frames.
  ///
  /// - Parameters:
  ///   - frames: one frame of each of the plan's source formats; those whose source is nil are not read.
  ///   - plan: the picture to draw.
  /// - Returns: the picture.
  /// - Throws: `Failure` if the frames can't be drawn.
  func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(Failure) -> Picture
}
