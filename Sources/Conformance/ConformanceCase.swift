// What is rendered to find out whether two renderers agree, and how closely they must.
package import PreviewCore

/// A frame made of numbers.
package struct SyntheticSource: Sendable, CustomStringConvertible {
  /// Of the frame.
  package let format: FrameFormat
  /// What is in it.
  package let content: FrameContent
  /// For its content.
  package let seed: UInt64

  /// A source.
  package init(_ format: FrameFormat, _ content: FrameContent = .noise, seed: UInt64 = 1) {
    self.format = format
    self.content = content
    self.seed = seed
  }

  /// The frame.
  package func frame() throws(FrameError) -> Frame {
    try .synthetic(format, content, seed: seed, padding: Int(seed % 4))
  }

  /// All that is needed to make it again.
  package var description: String {
    "\(format.pixelFormat.rawValue) \(format.referenceSize) at \(format.eighths)/8 exif=\(format.orientation.exif) "
      + "\(format.color.matrix.rawValue) \(format.color.range.rawValue) \(format.color.siting.rawValue) "
      + "\(content) seed \(seed)"
  }
}

/// What is rendered of frames.
package enum ConformanceSubject: Sendable {
  /// A view of the first.
  case view(ViewRequest)
  /// Several in one picture.
  case scene(Composition, as: PictureFormat)
}

extension Renderer {
  /// The picture of a subject.
  ///
  /// - Throws: `WordError`, or what the renderer throws.
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

/// Frames, what is rendered of them, and a bound.
package struct ConformanceCase: Sendable, CustomStringConvertible {
  /// The row of the table that it counts for.
  package let group: String
  /// The frames.
  package let sources: [SyntheticSource]
  /// What is rendered.
  package let subject: ConformanceSubject
  /// The largest difference of a channel that is allowed: 0 for copies, else 1.
  package let bound: Int

  /// A view.
  package init(
    _ group: String, _ format: FrameFormat, _ content: FrameContent = .noise, seed: UInt64 = 1,
    _ request: ViewRequest, bound: Int = 1
  ) {
    self.group = group
    self.sources = [SyntheticSource(format, content, seed: seed)]
    self.subject = .view(request)
    self.bound = bound
  }

  /// A composition.
  package init(
    _ group: String, _ sources: [SyntheticSource], _ composition: Composition,
    as format: PictureFormat = .rgba,
    bound: Int = 1
  ) {
    self.group = group
    self.sources = sources
    self.subject = .scene(composition, as: format)
    self.bound = bound
  }

  /// All that is needed to make it again.
  package var description: String {
    "\(sources.map(\.description).joined(separator: "; ")) -> \(subject)"
  }
}

extension ConformanceSubject: CustomStringConvertible {
  /// All that is needed to make it again.
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
