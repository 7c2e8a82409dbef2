// Finds the pixels that a polygon touches, row by row.

/// A closed polygon, in pixels of a plane.
struct MaskOutline {
  private struct Edge {
    let from: SIMD2<Double>
    let to: SIMD2<Double>

    /// The edge's x at height `y`, which must lie between its ends.
    func x(at y: Double) -> Double {
      from.y == to.y ? from.x : from.x + (to.x - from.x) * ((y - from.y) / (to.y - from.y))
    }
  }

  private let edges: [Edge]

  init(_ points: [SIMD2<Double>]) {
    edges = points.indices.map {
      Edge(from: points[$0], to: points[$0 + 1 < points.count ? $0 + 1 : 0])
    }
  }

  /// The columns of a row whose pixels share any area with the polygon. Touching ranges are joined.
  ///
  /// A pixel that an edge crosses is found through the edge. Any other pixel is wholly inside or outside; its centre
  /// decides.
  func columns(ofRow row: Int, width: Int) -> [Range<Int>] {
    let (top, bottom) = (Double(row), Double(row + 1))
    var ranges: [Range<Int>] = []
    func add(_ left: Double, _ right: Double) {
      let start = max(left, 0).rounded(.down)
      let end = min(right, Double(width)).rounded(.up)
      if start < end { ranges.append(Int(start)..<Int(end)) }
    }
    for edge in edges {
      let low = min(edge.from.y, edge.to.y), high = max(edge.from.y, edge.to.y)
      guard low < bottom, high > top else { continue }
      let one = low != high ? edge.x(at: min(max(edge.from.y, top), bottom)) : edge.from.x
      let other = low != high ? edge.x(at: min(max(edge.to.y, top), bottom)) : edge.to.x
      // An edge that runs along the border of two columns lies in neither.
      if one != other || one != one.rounded() { add(min(one, other), max(one, other)) }
    }
    var winding = 0
    var start = 0.0
    for crossing in crossings(top + 0.5) {
      if winding == 0 { start = crossing.x }
      winding += crossing.direction
      if winding == 0 { add(start, crossing.x) }
    }
    return ranges.joinedWhereTheyMeet
  }

  private func crossings(_ y: Double) -> [(x: Double, direction: Int)] {
    edges.filter { ($0.from.y <= y) != ($0.to.y <= y) }
      .map { (x: $0.x(at: y), direction: $0.from.y < $0.to.y ? 1 : -1) }
      .sorted { $0.x < $1.x }
  }
}
