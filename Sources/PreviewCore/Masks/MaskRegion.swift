// Converts a mask's shape from upright source pixels to rows of stored samples, always rounding outwards.

/// Some columns of a row.
struct MaskSpan: Sendable, Hashable {
  let row: Int
  let columns: Range<Int>
}

/// A set of samples in row order, left to right. No two spans touch or overlap.
struct MaskRegion: Sendable, Hashable {
  let spans: [MaskSpan]

  /// The smallest rectangle around the region; empty if the region is.
  let bounds: Rectangle

  private init(_ spans: [MaskSpan]) {
    self.spans = spans
    guard let first = spans.first, let last = spans.last else {
      bounds = Rectangle(x: 0, y: 0, width: 0, height: 0)
      return
    }
    let left = spans.reduce(first.columns.lowerBound) { min($0, $1.columns.lowerBound) }
    let right = spans.reduce(first.columns.upperBound) { max($0, $1.columns.upperBound) }
    bounds = Rectangle(x: left, y: first.row, width: right - left, height: last.row + 1 - first.row)
  }

  /// Creates the region of the frame pixels that share any area with a shape, which is in pixels of the
  /// upright source at `reference`. The frame may be rotated, scaled, or decoded at a reduced size.
  init(_ shape: PrivacyMask.Shape, reference: Size, in format: Frame.Format) {
    let stored = StoredMask(reference, format)
    switch shape {
    case .rectangle(let rectangle):
      self.init(columns: stored.columns(of: rectangle), rows: stored.rows(of: rectangle))
    case .polygon(let points):
      let outline = MaskOutline(points.map(stored.position))
      let spans = (0..<format.size.height).flatMap { row in
        outline.columns(ofRow: row, width: format.size.width).map { MaskSpan(row: row, columns: $0) }
      }
      if spans.isEmpty, let around = Self.rectangle(around: points) {
        // A polygon without area, such as a line, hides its bounding rectangle.
        self.init(columns: stored.columns(of: around), rows: stored.rows(of: around))
      } else {
        self.init(spans)
      }
    }
  }

  /// Creates the region of the pixels of a picture that share any area with a closed polygon, or are within
  /// `distance` of one that does. The corners are in pixels of the picture, and may lie outside.
  init(around corners: [SIMD2<Double>], within distance: SIMD2<Int>, inPictureOf size: Size) {
    // A larger picture, so that what lies beside the picture grows into it.
    let canvas = Size(width: size.width + 2 * distance.x, height: size.height + 2 * distance.y)
    let limit = SIMD2(repeating: 1e8)
    let moved = corners.map { ($0 + SIMD2<Double>(distance)).clamped(lowerBound: -limit, upperBound: limit) }
    let outline = MaskOutline(moved)
    var spans = (0..<canvas.height).flatMap { row in
      outline.columns(ofRow: row, width: canvas.width).map { MaskSpan(row: row, columns: $0) }
    }
    if spans.isEmpty, let first = moved.first {
      // Without area, such as a line: its bounding rectangle.
      let low = moved.reduce(first) { pointwiseMin($0, $1) }
      let high = moved.reduce(first) { pointwiseMax($0, $1) }
      func pixels(_ low: Double, _ high: Double, _ count: Int) -> Range<Int> {
        let start = min(max(Int(low.rounded(.down)), 0), count)
        return start..<max(start, min(Int(high.rounded(.down)) + 1, count))
      }
      let (columns, rows) = (pixels(low.x, high.x, canvas.width), pixels(low.y, high.y, canvas.height))
      spans = columns.isEmpty ? [] : rows.map { MaskSpan(row: $0, columns: columns) }
    }
    self.init(
      MaskRegion(spans).grown(by: distance, in: canvas).spans.compactMap { span in
        let (row, start) = (span.row - distance.y, max(span.columns.lowerBound - distance.x, 0))
        let end = min(span.columns.upperBound - distance.x, size.width)
        return (0..<size.height).contains(row) && start < end ? MaskSpan(row: row, columns: start..<end) : nil
      })
  }

  private init(columns: Range<Int>, rows: Range<Int>) {
    self.init(columns.isEmpty ? [] : rows.map { MaskSpan(row: $0, columns: columns) })
  }

  /// Returns the samples of a subsampled plane that cover any of these pixels.
  func subsampled(_ subsampling: Subsampling) -> MaskRegion {
    guard subsampling != .none else { return self }
    var result: [MaskSpan] = []
    var index = 0
    while index < spans.count {
      let row = spans[index].row / subsampling.y
      var ranges: [Range<Int>] = []
      while index < spans.count, spans[index].row / subsampling.y == row {
        let columns = spans[index].columns
        ranges.append(columns.lowerBound / subsampling.x..<(columns.upperBound - 1) / subsampling.x + 1)
        index += 1
      }
      result += ranges.joinedWhereTheyMeet.map { MaskSpan(row: row, columns: $0) }
    }
    return MaskRegion(result)
  }

  /// Adds all samples within `distance` of the region, limited to a picture of `size`.
  func grown(by distance: SIMD2<Int>, in size: Size) -> MaskRegion {
    guard distance != .zero, !spans.isEmpty else { return self }
    let first = max(bounds.y - distance.y, 0)
    let last = min(bounds.y + bounds.height + distance.y, size.height)
    var rows = [[Range<Int>]](repeating: [], count: max(last - first, 0))
    for span in spans where (first..<last).contains(span.row) {
      rows[span.row - first].append(
        max(span.columns.lowerBound - distance.x, 0)..<min(span.columns.upperBound + distance.x, size.width))
    }
    rows = rows.map(\.joinedWhereTheyMeet)
    // Rows that have grown by `grown` grow by up to twice that and one more at once.
    var grown = 0
    while grown < distance.y {
      let step = min(2 * grown + 1, distance.y - grown)
      rows = rows.indices.map { row in
        [row - step, row, row + step].filter(rows.indices.contains).flatMap { rows[$0] }.joinedWhereTheyMeet
      }
      grown += step
    }
    return MaskRegion(
      rows.enumerated().flatMap { row, ranges in ranges.map { MaskSpan(row: first + row, columns: $0) } })
  }

  private static func rectangle(around points: [SIMD2<Int>]) -> Rectangle? {
    guard let first = points.first else { return nil }
    let low = points.reduce(first) { pointwiseMin($0, $1) }
    let high = points.reduce(first) { pointwiseMax($0, $1) }
    return Rectangle(x: low.x, y: low.y, width: max(high.x &- low.x, 1), height: max(high.y &- low.y, 1))
  }
}

extension [Range<Int>] {
  /// The union of the ranges, sorted, in as few ranges as possible.
  var joinedWhereTheyMeet: [Range<Int>] {
    sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, range in
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
  }
}

/// Maps upright positions at the masks' reference size to positions in a frame's planes, as exact fractions.
struct StoredMask {
  private let orientation: Orientation
  /// The masks' reference size, in stored orientation.
  private let reference: Size
  /// The frame's size in pixels.
  private let size: Size
  /// A position in the planes is `position * numerator / denominator`.
  private let numerator: Size
  private let denominator: Size

  /// Positions are clamped to this; anything farther is outside every picture.
  private static let farthest = 1 << 30

  init(_ reference: Size, _ format: Frame.Format) {
    orientation = format.orientation
    self.reference = orientation.seen(reference)
    size = format.size
    numerator = Size(
      width: format.referenceSize.width * format.eighths, height: format.referenceSize.height * format.eighths
    )
    denominator = Size(width: self.reference.width * 8, height: self.reference.height * 8)
  }

  /// Frame pixels per mask pixel, along each stored axis.
  var scale: SIMD2<Double> {
    [
      Double(numerator.width) / Double(denominator.width),
      Double(numerator.height) / Double(denominator.height),
    ]
  }

  /// How far an object may lie from its proportional position, in frame pixels along each axis. A source with
  /// a slightly different aspect ratio may have stretched, cropped or padded its picture. Zero if the ratio
  /// is the same.
  var slack: SIMD2<Int> {
    let (width, height) = (8 * denominator.width, 8 * denominator.height)
    // The difference of the two scales, times both denominators.
    let difference = abs(numerator.width * denominator.height - numerator.height * denominator.width)
    return [(difference + height - 1) / height, (difference + width - 1) / width]
  }

  func columns(of rectangle: Rectangle) -> Range<Int> {
    let edges = edges(of: rectangle)
    return outwards(edges.low.x, edges.high.x, numerator.width, denominator.width, size.width)
  }

  func rows(of rectangle: Rectangle) -> Range<Int> {
    let edges = edges(of: rectangle)
    return outwards(edges.low.y, edges.high.y, numerator.height, denominator.height, size.height)
  }

  /// Returns a point's position in the planes, in pixels.
  func position(_ point: SIMD2<Int>) -> SIMD2<Double> {
    let stored = stored(point)
    return [
      Double(stored.x * numerator.width) / Double(denominator.width),
      Double(stored.y * numerator.height) / Double(denominator.height),
    ]
  }

  private func edges(of rectangle: Rectangle) -> (low: SIMD2<Int>, high: SIMD2<Int>) {
    let corner = SIMD2(rectangle.x, rectangle.y)
    let one = stored(corner), other = stored(corner &+ SIMD2(rectangle.width, rectangle.height))
    return (pointwiseMin(one, other), pointwiseMax(one, other))
  }

  /// Returns a point at the masks' reference size in stored orientation.
  private func stored(_ point: SIMD2<Int>) -> SIMD2<Int> {
    let point = point.clamped(
      lowerBound: SIMD2(repeating: -Self.farthest), upperBound: SIMD2(repeating: Self.farthest))
    let swapped: SIMD2<Int> = orientation.swapsAxes ? [point.y, point.x] : point
    return [
      orientation.flipsX ? reference.width - swapped.x : swapped.x,
      orientation.flipsY ? reference.height - swapped.y : swapped.y,
    ]
  }

  private func outwards(_ low: Int, _ high: Int, _ numerator: Int, _ denominator: Int, _ count: Int)
    -> Range<Int>
  {
    let product = max(low, 0) * numerator
    let start = min(product / denominator, count)
    let end = min((max(high, 0) * numerator + denominator - 1) / denominator, count)
    return start..<max(end, start)
  }
}

/// A closed polygon, in pixels of a plane.
struct MaskOutline {
  private struct Edge {
    let from: SIMD2<Double>
    let to: SIMD2<Double>

    /// Returns the edge's x at height `y`, which must lie between its ends.
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

  /// Returns the columns of a row whose pixels share any area with the polygon. Touching ranges are joined.
  ///
  /// A pixel that an edge crosses is found through the edge. Any other pixel is wholly inside or outside; its
  /// centre decides.
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
