// The cases for comparing two renderers: what is rendered, the allowed difference, and the actual difference.
package import PreviewCore
internal import ReferenceRenderer

/// A synthetic frame.
struct SyntheticSource: Sendable, CustomStringConvertible {
  let format: Frame.Format
  let content: FrameContent
  let seed: UInt64

  func frame() throws(Frame.LayoutError) -> Frame {
    try .synthetic(format, content, seed: seed, padding: Int(seed % 4))
  }

  /// Everything that is needed to make it again.
  var description: String {
    "\(format.pixelFormat.rawValue) \(format.referenceSize) at \(format.eighths)/8 exif=\(format.orientation.exif) "
      + "\(format.color.matrix.rawValue) \(format.color.range.rawValue) \(format.color.siting.rawValue) "
      + "\(content) seed \(seed)"
  }
}

/// The picture to render from frames.
package enum ConformanceSubject: Sendable {
  /// A view of the first frame.
  case view(ViewRequest)
  /// Several frames in one picture.
  case scene(Composition, as: Picture.Format)
}

extension Renderer {
  package func picture(
    of subject: ConformanceSubject, _ frames: [Frame], _ planner: RenderPlanner
  ) async throws -> Picture {
    switch subject {
    case .view(let request): try await render(frames[0], planner.plan(frames[0].format, [request]))[0]
    case .scene(let composition, let format):
      try await render(frames, planner.plan(frames.map(\.format), composition, as: format))
    }
  }
}

/// Frames, the picture to render from them, and the allowed difference.
package struct ConformanceCase: Sendable, CustomStringConvertible {
  /// The row of the result table that it belongs to.
  package let group: String
  let sources: [SyntheticSource]
  let subject: ConformanceSubject
  /// The largest allowed difference of a channel: 0 for copies, otherwise 1.
  package let bound: Int

  package init(
    _ group: String, _ format: Frame.Format, _ content: FrameContent = .noise, seed: UInt64 = 1,
    _ view: ViewConfiguration, as output: Picture.Format = .rgba, bound: Int = 1
  ) {
    self.group = group
    self.sources = [SyntheticSource(format: format, content: content, seed: seed)]
    self.subject = .view(ViewRequest(view, as: output))
    self.bound = bound
  }

  init(
    _ group: String, _ sources: [SyntheticSource], _ composition: Composition, as format: Picture.Format
  ) {
    self.group = group
    self.sources = sources
    self.subject = .scene(composition, as: format)
    self.bound = 1
  }

  /// Everything that is needed to make it again.
  package var description: String {
    "\(sources.map(\.description).joined(separator: "; ")) -> \(subject)"
  }
}

extension ConformanceSubject: CustomStringConvertible {
  /// Everything that is needed to make it again.
  package var description: String {
    switch self {
    case .view(let request): return "\(request.format) \(request.view.words)"
    case .scene(let composition, let format):
      let layers = composition.layers.map(\.words).joined(separator: "; ")
      return "\(format) \(composition.size) of \(layers)"
    }
  }
}

extension ViewConfiguration {
  fileprivate var words: String {
    let side = { (side: Int?) in side.map { "\($0)" } ?? "" }
    var words = [
      "size=\(side(width))x\(side(height)) mode=\(contentMode.rawValue) filter=\(filter.rawValue)",
      "rotate=\(rotation.rawValue) mirror=\(mirroring.rawValue) background=\(background)",
    ]
    if let crop { words.append("crop=\(crop)") }
    if light == .linear { words.append("linear") }
    if surround == .blur { words.append("in its own blur") }
    if angle != 0 { words.append("turned by \(angle)") }
    if let corners { words.append("corners=\(corners)") }
    if let lens { words.append("lens=\(lens)") }
    if let projection {
      words.append(
        "projection=\(projection.shape.rawValue) yaw=\(projection.yaw) pitch=\(projection.pitch) "
          + "roll=\(projection.roll) hfov=\(projection.hfov.map { "\($0)" } ?? "")")
    }
    return words.joined(separator: " ")
  }
}

extension Layer {
  fileprivate var words: String {
    let what =
      switch content {
      case .color(let color): "\(color)"
      case .gradient(let gradient): "\(gradient.start) to \(gradient.end) at \(gradient.angle)"
      case .bitmap(let bitmap): "bitmap \(bitmap.size)"
      case .view(let input, let view): "view of \(input) \(view.words)"
      case .blurred(let input, let view, let blur): "view of \(input) blurred by \(blur.cell) \(view.words)"
      }
    let (scale, offset) = (adjustment.scale, adjustment.offset)
    return "\(what) in \(frame) \(shape) border \(border.map { "\($0.width) \($0.color)" } ?? "none") "
      + "opacity \(opacity) scale \(scale) offset \(offset) "
      + "by (\(transform.a), \(transform.b), \(transform.c), \(transform.d), \(transform.tx), \(transform.ty))"
  }
}

package struct ConformanceResult: Sendable {
  package let conformanceCase: ConformanceCase
  package let difference: PictureDifference
  package let expected: Picture
  package let actual: Picture
  /// Whether drawing the same frame again gave the same picture.
  package let isRepeatable: Bool

  /// Whether the difference is within the case's bound, and the picture is repeatable.
  package var isWithinBound: Bool { isRepeatable && difference.worst <= conformanceCase.bound }
}

/// Compares a renderer with the reference.
package struct ConformanceRun<Candidate: Renderer>: Sendable {
  private let candidate: Candidate
  private let planner: RenderPlanner
  private let reference = ReferenceRenderer()

  /// Creates a run that compares `candidate`, with plans for `tuning`.
  package init(_ candidate: Candidate, tuning: RenderTuning) {
    self.candidate = candidate
    self.planner = RenderPlanner(tuning: tuning)
  }

  /// Renders one case with both renderers, and again with the candidate, which may have compiled programs for
  /// it by then.
  ///
  /// - Throws: the renderer's errors.
  package func result(of conformanceCase: ConformanceCase) async throws -> ConformanceResult {
    var frames: [Frame] = []
    for source in conformanceCase.sources { frames.append(try source.frame()) }
    let expected = try await reference.picture(of: conformanceCase.subject, frames, planner)
    let actual = try await candidate.picture(of: conformanceCase.subject, frames, planner)
    let again = try await candidate.picture(of: conformanceCase.subject, frames, planner)
    return ConformanceResult(
      conformanceCase: conformanceCase, difference: PictureDifference(expected: expected, actual: actual),
      expected: expected, actual: actual,
      isRepeatable: PictureDifference(expected: actual, actual: again).worst == 0)
  }
}
