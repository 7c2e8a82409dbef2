// Splits the views of a frame into pieces that are drawn one after another: their samples take bounded
// memory, however many views there are.

/// Some views of a frame, to be drawn together.
package struct FramePiece: Sendable {
  let frame: Frame
  let number: Int
  /// Whether the frame is of a live source, so that its timestamp is a time of capture.
  let isLive: Bool
  /// The plan of these views only.
  package let plan: RenderPlan
  /// The index of the first of these views among all views.
  package let firstView: Int
  /// Whether it is the frame's last piece.
  let isLast: Bool

  /// The most pixels of views that are drawn together; a larger view is drawn alone.
  static let mostPixels = 16 << 20

  /// Returns the ranges of neighbouring views that are drawn together, from the pixels of each view.
  static func ranges(_ pixels: [Int]) -> [Range<Int>] {
    var pieces: [Range<Int>] = []
    var (first, sum) = (0, 0)
    for (index, count) in pixels.enumerated() {
      if index > first, sum + count > mostPixels {
        pieces.append(first..<index)
        (first, sum) = (index, 0)
      }
      sum += count
    }
    if first < pixels.count { pieces.append(first..<pixels.count) }
    return pieces
  }
}

extension ViewPlans {
  /// Returns the pieces of a frame's views.
  ///
  /// - Throws: `ParameterError` if one of the views can't be drawn.
  func pieces(
    of frame: Frame, number: Int, isLive: Bool, _ requests: [ViewRequest], _ planner: RenderPlanner
  ) throws -> [FramePiece] {
    let text = PangoTextRenderer.shared
    let time = isLive ? frame.timestamp : CaptureClock.now
    let whole = try plan(frame.format, at: time, requests, planner, text: text)
    let ranges = FramePiece.ranges(whole.views.map(\.size.pixelCount))
    return try ranges.map { range in
      let plan =
        ranges.count == 1
        ? whole : try plan(frame.format, at: time, Array(requests[range]), planner, text: text)
      return FramePiece(
        frame: frame, number: number, isLive: isLive, plan: plan, firstView: range.lowerBound,
        isLast: range.upperBound == requests.count)
    }
  }
}
