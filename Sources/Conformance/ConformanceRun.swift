// Renders the cases with two renderers and says how far they are apart.
public import PreviewCore
internal import ReferenceRenderer

/// What came of a case.
public struct ConformanceResult: Sendable {
  /// What was rendered.
  public let conformanceCase: ConformanceCase
  /// How far the renderers are apart.
  public let difference: PictureDifference
  /// What is right.
  public let expected: Picture
  /// What was rendered.
  public let actual: Picture

  /// Whether the case's bound is kept.
  public var isWithinBound: Bool { difference.worst <= conformanceCase.bound }
}

/// Compares a renderer with the reference.
public struct ConformanceRun<Candidate: Renderer>: Sendable {
  private let candidate: Candidate
  private let planner: RenderPlanner
  private let reference = ReferenceRenderer()

  /// A run of `candidate`, with plans as `tuning` wants them.
  public init(_ candidate: Candidate, tuning: RenderTuning) {
    self.candidate = candidate
    self.planner = RenderPlanner(tuning: tuning)
  }

  /// Renders one case with both.
  ///
  /// - Throws: what the renderer throws.
  public func result(of conformanceCase: ConformanceCase) async throws -> ConformanceResult {
    var frames: [Frame] = []
    for source in conformanceCase.sources { frames.append(try source.frame()) }
    let expected = try await reference.picture(of: conformanceCase.subject, frames, planner)
    let actual = try await candidate.picture(of: conformanceCase.subject, frames, planner)
    return ConformanceResult(
      conformanceCase: conformanceCase, difference: PictureDifference(expected: expected, actual: actual),
      expected: expected, actual: actual)
  }
}
