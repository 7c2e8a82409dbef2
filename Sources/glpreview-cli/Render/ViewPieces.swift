// Splits the views of a frame into pieces that are drawn one after another: their samples take bounded memory, however many
// views there are.
import GLPreview

enum ViewPieces {
  /// Views are drawn together up to so many pixels; a larger one is drawn alone.
  static let mostPixels = 16 << 20

  /// Neighbouring views, in order.
  static func of(_ plan: RenderPlan) -> [Range<Int>] { of(plan.views.map(\.size.pixelCount)) }

  static func of(_ pixels: [Int]) -> [Range<Int>] {
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

/// Some views of a frame, to be drawn together.
struct FramePiece: Sendable {
  let frame: Frame
  let number: Int
  /// Of these views only.
  let plan: RenderPlan
  /// The number of the first one among all views.
  let firstView: Int
  /// Whether the frame has no further ones.
  let isLast: Bool
}

extension ViewPlans {
  /// The pieces of a frame's views.
  ///
  /// - Throws: `WordError` if one of the views can't be drawn.
  func pieces(
    of frame: Frame, number: Int, at time: CaptureInstant, _ requests: [ViewRequest], _ planner: RenderPlanner
  ) throws -> [FramePiece] {
    let text = PangoTextRenderer.shared
    let whole = try plan(frame.format, at: time, requests, planner, text: text)
    let ranges = ViewPieces.of(whole)
    return try ranges.map { range in
      let plan =
        ranges.count == 1
        ? whole : try plan(frame.format, at: time, Array(requests[range]), planner, text: text)
      return FramePiece(
        frame: frame, number: number, plan: plan, firstView: range.lowerBound,
        isLast: range.upperBound == requests.count)
    }
  }
}
