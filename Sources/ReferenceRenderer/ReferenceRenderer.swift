// Executes plans on the CPU, simply and in double precision, as the reference for the GPU renderer. Never
// optimised.
package import PreviewCore

package struct ReferenceRenderer: Renderer {
  /// Rendering cannot fail.
  package typealias Failure = Never

  package init() {}

  /// Draws all views of `plan`, sample by sample.
  package func render(_ frame: Frame, _ plan: RenderPlan) -> [Picture] {
    plan.views.map { Picture($0, of: [frame]) }
  }

  /// Draws all layers of `plan`, pixel by pixel.
  package func render(_ frames: [Frame?], _ plan: ScenePlan) -> Picture { Picture(plan.view, of: frames) }
}

extension Picture {
  /// Draws a view. A plain view reads the first of `frames`, a composition any of them. A missing frame is
  /// black.
  init(_ view: PlannedView, of frames: [Frame?]) {
    let frame =
      if let composition = view.composition { Compositor(composition, frames).frame } else {
        frames.first ?? nil
      }
    let planes = view.passes.map { pass -> [UInt8] in
      guard let frame else {
        return [UInt8](repeating: 0, count: pass.size.pixelCount * view.format.bytesPerSample)
      }
      return PassExecutor(pass, of: view, from: frame).samples()
    }
    self.init(tight: view.size, format: view.format, bytes: planes.flatMap { $0 })
  }
}
