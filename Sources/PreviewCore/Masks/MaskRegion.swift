// Which samples a mask takes: from a shape upright to rows of samples as they lie in a frame, always outwards.

/// Columns `start..<end` of a row.
struct MaskSpan: Sendable, Hashable {
  let row: Int
  let start: Int
  let end: Int
}

/// A set of samples: row by row, from left to right; no two spans touch or overlap.
struct MaskRegion: Sendable, Hashable {
  let spans: [MaskSpan]

  /// The smallest rectangle around it; empty where it is.
  let bounds: Rectangle

  private init(_ spans: [MaskSpan]) {
    self.spans = spans
    guard let first = spans.first, let last = spans.last else {
      bounds = Rectangle(x: 0, y: 0, width: 0, height: 0)
      return
    }
    let left = spans.reduce(first.start) { min($0, $1.start) }
    let right = spans.reduce(first.end) { max($0, $1.end) }
    bounds = Rectangle(x: left, y: first.row, width: right - left, height: last.row + 1 - first.row)
  }

  /// The pixels of a frame's planes that have any area in common with a shape.
  ///
  /// - Parameters:
  ///   - shape: in pixels of the upright source at `reference`.
  ///   - reference: the size that the shape was said in; both sides positive.
  ///   - format: of the frame, which may be turned, of another size, and decoded smaller.
  init(_ shape: MaskShape, said reference: Size, in format: FrameFormat) {
    let stored = StoredMask(reference, format)
    switch shape {
    case .rectangle(let rectangle):
      self.init(columns: stored.columns(of: rectangle), rows: stored.rows(of: rectangle))
    case .polygon(let points):
      let outline = MaskOutline(points.map(stored.position))
      let spans = (0..<format.size.height).flatMap { row in
        outline.columns(ofRow: row, width: format.size.width).map {
          MaskSpan(row: row, start: $0.lowerBound, end: $0.upperBound)
        }
      }
      if spans.isEmpty, let around = Self.rectangle(around: points) {
        // A line has no area, but was not drawn for nothing.
        self.init(columns: stored.columns(of: around), rows: stored.rows(of: around))
      } else {
        self.init(spans)
      }
    }
  }

  private init(columns: Range<Int>, rows: Range<Int>) {
    self.init(
      columns.isEmpty
        ? [] : rows.map { MaskSpan(row: $0, start: columns.lowerBound, end: columns.upperBound) })
  }

  /// The samples of a plane that stand for any of these pixels.
  func subsampled(_ subsampling: Subsampling) -> MaskRegion {
    guard subsampling != .none else { return self }
    var result: [MaskSpan] = []
    var index = 0
    while index < spans.count {
      let row = spans[index].row / subsampling.y
      var ranges: [Range<Int>] = []
      while index < spans.count, spans[index].row / subsampling.y == row {
        ranges.append(spans[index].start / subsampling.x..<(spans[index].end - 1) / subsampling.x + 1)
        index += 1
      }
      result += ranges.joinedWhereTheyMeet.map {
        MaskSpan(row: row, start: $0.lowerBound, end: $0.upperBound)
      }
    }
    return MaskRegion(result)
  }

  /// With all samples that lie within `distance` of one of these, and in a picture of `size`.
  func grown(by distance: SIMD2<Int>, in size: Size) -> MaskRegion {
    guard distance != .zero, !spans.isEmpty else { return self }
    let rows = Dictionary(grouping: spans, by: \.row)
    let last = min(bounds.y + bounds.height + distance.y, size.height)
    return MaskRegion(
      (max(bounds.y - distance.y, 0)..<last).flatMap { row in
        (row - distance.y...row + distance.y).flatMap { rows[$0] ?? [] }.map { span in
          max(span.start - distance.x, 0)..<min(span.end + distance.x, size.width)
        }.joinedWhereTheyMeet.map { MaskSpan(row: row, start: $0.lowerBound, end: $0.upperBound) }
      })
  }

  private static func rectangle(around points: [SIMD2<Int>]) -> Rectangle? {
    guard let first = points.first else { return nil }
    let low = points.reduce(first) { pointwiseMin($0, $1) }
    let high = points.reduce(first) { pointwiseMax($0, $1) }
    return Rectangle(
      x: low.x, y: low.y, width: max(high.x &- low.x, 1), height: max(high.y &- low.y, 1))
  }
}

extension [Range<Int>] {
  /// The same numbers in order, in as few ranges as can be.
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

/// From positions upright, in the size that masks are said in, to positions in a frame's planes: exact fractions.
private struct StoredMask {
  private let orientation: Orientation
  /// The masks' size as stored.
  private let reference: Size
  /// Of the planes.
  private let size: Size
  /// Position times this over `denominator` is a position in the planes.
  private let numerator: Size
  private let denominator: Size

  /// What is farther out is outside any picture.
  private static let farthest = 1 << 30

  init(_ reference: Size, _ format: FrameFormat) {
    orientation = format.orientation
    self.reference = orientation.seen(reference)
    size = format.size
    numerator = Size(
      width: format.referenceSize.width * format.eighths, height: format.referenceSize.height * format.eighths
    )
    denominator = Size(width: self.reference.width * 8, height: self.reference.height * 8)
  }

  func columns(of rectangle: Rectangle) -> Range<Int> {
    let edges = edges(of: rectangle)
    return outwards(edges.low.x, edges.high.x, numerator.width, denominator.width, size.width)
  }

  func rows(of rectangle: Rectangle) -> Range<Int> {
    let edges = edges(of: rectangle)
    return outwards(edges.low.y, edges.high.y, numerator.height, denominator.height, size.height)
  }

  /// Where a point lies, in pixels of the planes.
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

  /// In the masks' size, as stored.
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
