// Converts a mask's shape from upright source pixels to rows of stored samples, always rounding outwards.

/// Columns `start..<end` of a row.
struct MaskSpan: Sendable, Hashable {
  let row: Int
  let start: Int
  let end: Int
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
    let left = spans.reduce(first.start) { min($0, $1.start) }
    let right = spans.reduce(first.end) { max($0, $1.end) }
    bounds = Rectangle(x: left, y: first.row, width: right - left, height: last.row + 1 - first.row)
  }

  /// The frame pixels that share any area with a shape.
  ///
  /// - Parameters:
  ///   - shape: in pixels of the upright source at `reference`.
  ///   - reference: the source size that the shape is given in; both sides positive.
  ///   - format: the frame's format; it may be rotated, scaled, or decoded at a reduced size.
  init(_ shape: PrivacyMask.Shape, said reference: Size, in format: FrameFormat) {
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
        // A polygon without area, such as a line, hides its bounding rectangle.
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

  /// The samples of a subsampled plane that stand for any of these pixels.
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

  /// Adds all samples within `distance` of the region, limited to a picture of `size`.
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
  /// The same numbers, sorted, in as few ranges as possible.
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
private struct StoredMask {
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

  /// A point's position in the planes, in pixels.
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

  /// A point at the masks' reference size, in stored orientation.
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
