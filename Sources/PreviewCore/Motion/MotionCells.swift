// The input of motion detection: a picture's mean luma in 64 x 36 cells, and its capture time.

/// The mean luma of each cell of a picture, top row first.
package struct MotionCells: Sendable, Hashable {
  package static let (columns, rows) = (64, 36)
  package static let count = columns * rows
  static let size = Size(width: columns, height: rows)

  /// `count` codes, full range.
  package let luma: [UInt8]
  /// The capture time. It may jump, or equal the previous picture's.
  package let time: CaptureInstant

  /// Creates cells; nil unless there are `count` of them.
  package init?(_ luma: [UInt8], at time: CaptureInstant) {
    guard luma.count == Self.count else { return nil }
    (self.luma, self.time) = (luma, time)
  }

  /// Creates cells from the first plane of a Y'CbCr picture with one pixel per cell; nil for any other
  /// picture.
  package init?(_ picture: Picture, at time: CaptureInstant) {
    guard picture.size == Self.size, let plane = picture.planes.first, case .ycbcr = picture.format
    else { return nil }
    let rows = (0..<Self.rows).map { plane.offset + $0 * plane.bytesPerRow }
    self.init(rows.flatMap { picture.bytes[$0..<$0 + Self.columns] }, at: time)
  }

  /// The view whose pixels are the cells: all of the upright picture, each pixel the mean of its area.
  package static var view: ViewConfiguration {
    var view = ViewConfiguration(width: columns, height: rows)
    (view.contentMode, view.filter) = (.stretch, .area)
    return view
  }
}

/// A part of the picture, in cells.
package struct MotionBox: Sendable, Hashable {
  package var columns: Range<Int>
  package var rows: Range<Int>

  package init(columns: Range<Int>, rows: Range<Int>) { (self.columns, self.rows) = (columns, rows) }

  /// Creates the box of the cell at an index.
  init(cell index: Int) {
    let (row, column) = index.quotientAndRemainder(dividingBy: MotionCells.columns)
    self.init(columns: column..<column + 1, rows: row..<row + 1)
  }

  /// Returns the smallest box around both.
  func union(_ other: MotionBox) -> MotionBox {
    func around(_ one: Range<Int>, _ other: Range<Int>) -> Range<Int> {
      min(one.lowerBound, other.lowerBound)..<max(one.upperBound, other.upperBound)
    }
    return MotionBox(columns: around(columns, other.columns), rows: around(rows, other.rows))
  }

  /// Returns whether the boxes are at most `distance` cells apart.
  func isNear(_ other: MotionBox, within distance: Int) -> Bool {
    func meet(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
      one.lowerBound <= other.upperBound + distance && other.lowerBound <= one.upperBound + distance
    }
    return meet(columns, other.columns) && meet(rows, other.rows)
  }

  /// Width and height, in cells.
  var sides: SIMD2<Int> { SIMD2(columns.count, rows.count) }

  /// Left edge, top edge, width and height, as fractions of the picture.
  package var fractions: [Double] {
    let (width, height) = (Double(MotionCells.columns), Double(MotionCells.rows))
    return [
      Double(columns.lowerBound) / width, Double(rows.lowerBound) / height, Double(columns.count) / width,
      Double(rows.count) / height,
    ]
  }
}
