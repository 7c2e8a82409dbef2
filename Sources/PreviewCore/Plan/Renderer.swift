// The face that the GPU's renderer and the CPU's reference share.

/// Carries out plans.
package protocol Renderer: Sendable {
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

  /// Draws one picture of several frames.
  ///
  /// - Parameters:
  ///   - frames: one for each of the plan's sources, of that format; what is nil there is not read.
  ///   - plan: what to draw.
  /// - Returns: the picture.
  /// - Throws: `Failure`, where the frames can't be drawn.
  func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(Failure) -> Picture

  /// Draws like `render(_:_:)`, and tells what the passes of all views together took by the device's own clock.
  ///
  /// - Returns: the pictures; no time where the renderer has no such clock, as by default, or where it was interrupted.
  /// - Throws: `Failure`, where the frame can't be drawn.
  func renderTimed(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(Failure) -> (pictures: [Picture], gpuTime: Duration?)
}

extension Renderer {
  /// The pictures without a time.
  package func renderTimed(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(Failure) -> (pictures: [Picture], gpuTime: Duration?) {
    (try await render(frame, plan), nil)
  }
}
