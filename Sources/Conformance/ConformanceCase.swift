// What is rendered to find out whether two renderers agree, and how closely they must.
public import PreviewCore

/// A frame, a view of it, and a bound.
public struct ConformanceCase: Sendable, CustomStringConvertible {
  /// The row of the table that it counts for.
  public let group: String
  /// Of the frame.
  public let format: FrameFormat
  /// What is in the frame.
  public let content: FrameContent
  /// For the frame's content.
  public let seed: UInt64
  /// What is rendered.
  public let request: ViewRequest
  /// The largest difference of a channel that is allowed: 0 for copies, else 1.
  public let bound: Int

  /// A case of `group`.
  public init(
    _ group: String, _ format: FrameFormat, _ content: FrameContent = .noise, seed: UInt64 = 1,
    _ request: ViewRequest, bound: Int = 1
  ) {
    self.group = group
    self.format = format
    self.content = content
    self.seed = seed
    self.request = request
    self.bound = bound
  }

  /// The frame.
  public func frame() throws(FrameError) -> Frame {
    try .synthetic(format, content, seed: seed, padding: Int(seed % 4))
  }

  /// All that is needed to make it again.
  public var description: String {
    let view = request.view
    let side = { (side: Int?) in side.map { "\($0)" } ?? "" }
    var words = [
      "\(format.pixelFormat.rawValue) \(format.referenceSize) at \(format.eighths)/8 exif=\(format.orientation.exif)",
      "\(format.color.matrix.rawValue) \(format.color.range.rawValue) \(format.color.siting.rawValue)",
      "\(content) seed \(seed) -> \(request.format) size=\(side(view.width))x\(side(view.height))",
      "mode=\(view.contentMode.rawValue) filter=\(view.filter.rawValue) rotate=\(view.rotation.rawValue)",
      "mirror=\(view.mirroring.rawValue) background=\(view.background)",
    ]
    if let crop = view.crop { words.append("crop=\(crop)") }
    if view.light == .linear { words.append("linear") }
    return words.joined(separator: " ")
  }
}
