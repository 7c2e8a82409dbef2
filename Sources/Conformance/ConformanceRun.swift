// Renders the cases with two renderers and says how far they are apart.
package import PreviewCore
internal import ReferenceRenderer

/// What came of a case.
package struct ConformanceResult: Sendable {
  /// What was rendered.
  package let conformanceCase: ConformanceCase
  /// How far the renderers are apart.
  package let difference: PictureDifference
  /// What is right.
  package let expected: Picture
  /// What was rendered.
  package let actual: Picture

  /// Whether the case's bound is kept.
  package var isWithinBound: Bool { difference.worst <= conformanceCase.bound }
}

/// Compares a renderer with the reference.
package struct ConformanceRun<Candidate: Renderer>: Sendable {
  private let candidate: Candidate
  private let planner: RenderPlanner
  private let reference = ReferenceRenderer()

  /// A run of `candidate`, with plans as `tuning` wants them.
  package init(_ candidate: Candidate, tuning: RenderTuning) {
    self.candidate = candidate
    self.planner = RenderPlanner(tuning: tuning)
  }

  /// Renders one case with both.
  ///
  /// - Throws: what the renderer throws.
  package func result(of conformanceCase: ConformanceCase) async throws -> ConformanceResult {
    var frames: [Frame] = []
    for source in conformanceCase.sources { frames.append(try source.frame()) }
    let expected = try await reference.picture(of: conformanceCase.subject, frames, planner)
    let actual = try await candidate.picture(of: conformanceCase.subject, frames, planner)
    return ConformanceResult(
      conformanceCase: conformanceCase, difference: PictureDifference(expected: expected, actual: actual),
      expected: expected, actual: actual)
  }
}
