// Zones that are drawn in the picture of a view: the cells of the source that the view shows in them.

extension MotionSettings {
  /// Checks the zones that are drawn in views.
  ///
  /// - Parameters:
  ///   - views: the views in which zones may be drawn, by name, with their lenses.
  ///   - size: the upright source's size; nil if it is not known yet. Then only the names of the views are
  ///     checked.
  /// - Throws: `ParameterError` with key `zones` for the first zone whose view is missing, can't be drawn, or
  ///   shows nothing of the source there.
  package func checkZones(
    in views: [String: ViewConfiguration], of size: Size?
  ) throws(ParameterError) {
    for zone in zones {
      if let name = zone.view, views[name] == nil { throw zone.unknownView(among: views) }
    }
    guard let size else { return }
    var finder = ZoneFinder(views, of: size)
    for zone in zones where zone.view != nil { _ = try finder.cells(of: zone) }
  }
}

extension MotionZone {
  fileprivate func unknownView(among views: [String: ViewConfiguration]) -> ParameterError {
    let known = views.keys.sorted().joined(separator: ", ")
    return fault("the camera has no view '\(view ?? "")' (known: \(known))")
  }

  fileprivate func fault(_ reason: String) -> ParameterError {
    ParameterError("zones", "zone '\(name)': \(reason)")
  }
}

/// Finds the cells of zones in an upright source of one size. Each view is prepared once.
struct ZoneFinder {
  private let views: [String: ViewConfiguration]
  private let size: Size
  private var prepared: [String: ViewCells] = [:]

  /// Creates a finder; `views` are the views in which zones may be drawn, by name, with their lenses.
  init(_ views: [String: ViewConfiguration], of size: Size) { (self.views, self.size) = (views, size) }

  /// Returns the indices of a zone's cells, in order.
  ///
  /// - Throws: `ParameterError` if the zone is drawn in a view that is missing, can't be drawn, or shows nothing of
  ///   the source there.
  mutating func cells(of zone: MotionZone) throws(ParameterError) -> [Int] {
    guard let name = zone.view else { return zone.cells }
    guard let view = views[name] else { throw zone.unknownView(among: views) }
    let found: [Int]
    do throws(ParameterError) {
      let shown: ViewCells
      if let known = prepared[name] { shown = known } else { shown = try ViewCells(view, of: size) }
      prepared[name] = shown
      found = try shown.cells(of: zone.corners)
    } catch {
      throw zone.fault("view '\(name)' can't be drawn: \(error.description)")
    }
    guard !found.isEmpty else {
      throw zone.fault("view '\(name)' shows nothing of the camera's picture there")
    }
    return found
  }
}

/// The places of a view's picture that show the cells of an upright source.
///
/// Cells are looked up in the picture, and no outline is drawn in the source. So zones follow the curves of a lens,
/// may reach beyond the edge of its image, and may lie in bars beside the picture.
struct ViewCells {
  private let view: ViewConfiguration
  private let source: Size
  /// The size of the view's picture.
  private let picture: SIMD2<Double>
  /// The points of the picture that show evenly spaced points of each cell; nil where none does.
  private let points: [SIMD2<Double>?]

  private static let pointsPerSide = 4
  private static let pointsPerCell = pointsPerSide * pointsPerSide

  /// Prepares a view of an upright source, in whose pixels its crop, lens and corners are.
  ///
  /// - Throws: `ParameterError` if the view can't be drawn.
  init(_ view: ViewConfiguration, of source: Size) throws(ParameterError) {
    let target = try view.shown(in: source).placement.target
    (self.view, self.source) = (view, source)
    picture = SIMD2(Double(target.width), Double(target.height))
    let scale = Self.cellSize(in: source) / Double(Self.pointsPerSide)
    var places: [SIMD2<Double>] = []
    for cell in 0..<MotionCells.count {
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      for index in 0..<Self.pointsPerCell {
        let (down, across) = index.quotientAndRemainder(dividingBy: Self.pointsPerSide)
        let x = Double(column * Self.pointsPerSide + across) + 0.5
        let y = Double(row * Self.pointsPerSide + down) + 0.5
        places.append(SIMD2(x, y) * scale)
      }
    }
    points = try view.picturePoints(of: places, in: source)
  }

  /// Returns the indices, in order, of the cells that the view shows inside a polygon, whose corners are in fractions
  /// of the width and height of its picture.
  func cells(of corners: [SIMD2<Double>]) throws(ParameterError) -> [Int] {
    guard let outline = PictureOutline(corners.map { $0 * picture }) else { return [] }
    var isInside = [Bool](repeating: false, count: MotionCells.count)
    for (index, point) in points.enumerated() {
      if let point, outline.contains(point) { isInside[index / Self.pointsPerCell] = true }
    }
    // Along the edges: parts of cells that have none of these points.
    let cell = Self.cellSize(in: source)
    for position in try view.sourcePoints(of: outline.pointsAlongEdges, in: source) {
      guard let position else { continue }
      let place = position / cell
      let column = min(max(Int(place.x.rounded(.down)), 0), MotionCells.columns - 1)
      let row = min(max(Int(place.y.rounded(.down)), 0), MotionCells.rows - 1)
      isInside[row * MotionCells.columns + column] = true
    }
    return isInside.indices.filter { isInside[$0] }
  }

  private static func cellSize(in source: Size) -> SIMD2<Double> {
    let cells = SIMD2(Double(MotionCells.columns), Double(MotionCells.rows))
    return SIMD2(Double(source.width), Double(source.height)) / cells
  }
}

/// A closed polygon in a picture, in pixels. Its inside follows the non-zero rule.
private struct PictureOutline {
  private let corners: [SIMD2<Double>]
  private let last: SIMD2<Double>
  private let low: SIMD2<Double>
  private let high: SIMD2<Double>

  /// The number of points along an edge, and their distance from it, in pixels.
  private static let (pointsPerEdge, margin) = (256, 1e-4)

  /// Creates a polygon; nil without corners.
  init?(_ corners: [SIMD2<Double>]) {
    guard let last = corners.last else { return nil }
    (self.corners, self.last) = (corners, last)
    low = corners.reduce(last) { pointwiseMin($0, $1) }
    high = corners.reduce(last) { pointwiseMax($0, $1) }
  }

  func contains(_ point: SIMD2<Double>) -> Bool {
    guard point.x >= low.x, point.y >= low.y, point.x <= high.x, point.y <= high.y else { return false }
    var winding = 0
    var from = last
    for to in corners {
      if (from.y <= point.y) != (to.y <= point.y) {
        let part = (point.y - from.y) / (to.y - from.y)
        let x = from.x + (to.x - from.x) * part
        if x > point.x { winding += from.y < to.y ? 1 : -1 }
      }
      from = to
    }
    return winding != 0
  }

  /// Points inside the polygon, evenly spaced along its edges.
  var pointsAlongEdges: [SIMD2<Double>] {
    var points: [SIMD2<Double>] = []
    var from = last
    for to in corners {
      let way = to - from
      let length = (way * way).sum().squareRoot()
      if length > 0 {
        let aside = SIMD2(-way.y, way.x) * (Self.margin / length)
        for index in 0..<Self.pointsPerEdge {
          let part = (Double(index) + 0.5) / Double(Self.pointsPerEdge)
          let point = from + way * part
          points += [point + aside, point - aside].filter { contains($0) }
        }
      }
      from = to
    }
    return points
  }
}
