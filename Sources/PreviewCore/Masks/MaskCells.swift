// Mean values over the cells of a mask. `pixelate` and `blur` draw from these alone, never from the hidden
// samples.

/// A grid over a mask's bounds, with the mean of the hidden samples in each cell.
///
/// A cell that the mask covers by less than half gets the mean of the whole mask, because its own mean would
/// reveal a few samples.
struct MaskCells {
  private let region: MaskRegion
  /// Cell edges, in samples: the start of each cell and the end of the last.
  private let columns: [Int]
  private let rows: [Int]
  /// The mean of each cell, row by row; empty before `add`.
  private var means: [Double] = []

  /// Creates a grid of at most `columns` x `rows` cells, and never more than there are samples.
  init(_ region: MaskRegion, columns: Int, rows: Int) {
    func edges(_ start: Int, _ length: Int, _ count: Int) -> [Int] {
      let count = max(min(count, length), 1)
      return (0...count).map { start + $0 * length / count }
    }
    self.region = region
    self.columns = edges(region.bounds.x, region.bounds.width, columns)
    self.rows = edges(region.bounds.y, region.bounds.height, rows)
  }

  private var width: Int { columns.count - 1 }
  private var height: Int { rows.count - 1 }

  /// Computes the means of one component's samples.
  mutating func add(_ samples: ComponentSamples, _ bytes: Span<UInt8>) {
    var sums = [Int](repeating: 0, count: width * height)
    var counts = sums
    forEachPiece { row, piece, cell in
      var position = samples.position(row, piece.lowerBound)
      var sum = 0
      for _ in piece {
        sum &+= samples.code(at: position, bytes)
        position &+= samples.step
      }
      sums[cell] += sum
      counts[cell] += piece.count
    }
    let mean = Double(sums.reduce(0, +)) / Double(max(counts.reduce(0, +), 1))
    means = sums.indices.map { cell in
      let area =
        (columns[cell % width + 1] - columns[cell % width]) * (rows[cell / width + 1] - rows[cell / width])
      return counts[cell] * 2 >= area ? Double(sums[cell]) / Double(counts[cell]) : mean
    }
  }

  /// Fills each cell with its mean, rounded half up.
  func drawFlat(_ samples: ComponentSamples, _ bytes: inout MutableSpan<UInt8>) {
    for span in region.spans {
      forEachPiece(of: span) { piece, cell in
        samples.fill(span.row, piece, with: Int(means[cell] + 0.5), &bytes)
      }
    }
  }

  /// Draws quadratic B-splines through the cells (M. Unser, "Splines: a perfect fit", 1999); edge cells are
  /// repeated.
  func drawSmooth(_ samples: ComponentSamples, _ bytes: inout MutableSpan<UInt8>) {
    let across = (region.bounds.x..<region.bounds.x + region.bounds.width).map {
      SplineTaps(at: $0, region.bounds.x, region.bounds.width, width)
    }
    var line = [Double](repeating: 0, count: width)
    for span in region.spans {
      let down = SplineTaps(at: span.row, region.bounds.y, region.bounds.height, height)
      for cell in 0..<width {
        line[cell] =
          means[down.before * width + cell] * down.weights.x + means[down.at * width + cell] * down.weights.y
          + means[down.after * width + cell] * down.weights.z
      }
      var position = samples.position(span.row, span.columns.lowerBound)
      for column in span.columns {
        let taps = across[column - region.bounds.x]
        let sum =
          line[taps.before] * taps.weights.x + line[taps.at] * taps.weights.y
          + line[taps.after] * taps.weights.z
        samples.set(Int(sum + 0.5), at: position, &bytes)
        position &+= samples.step
      }
    }
  }

  private func forEachPiece(_ body: (_ row: Int, _ piece: Range<Int>, _ cell: Int) -> Void) {
    for span in region.spans { forEachPiece(of: span) { body(span.row, $0, $1) } }
  }

  /// Splits a span at the cell edges.
  private func forEachPiece(of span: MaskSpan, _ body: (_ piece: Range<Int>, _ cell: Int) -> Void) {
    let line = Self.cell(of: span.row, rows) * width
    var start = span.columns.lowerBound
    var cell = Self.cell(of: start, columns)
    while start < span.columns.upperBound {
      let end = min(columns[cell + 1], span.columns.upperBound)
      body(start..<end, line + cell)
      start = end
      cell += 1
    }
  }

  private static func cell(of sample: Int, _ edges: [Int]) -> Int {
    let (first, count) = (edges[0], edges.count - 1)
    // Edges are rounded down, so the sample may lie in the next cell.
    let cell = (sample - first) * count / (edges[count] - first)
    return cell + 1 < count && edges[cell + 1] <= sample ? cell + 1 : cell
  }
}

/// The three cells that a sample is interpolated from, and their weights.
private struct SplineTaps {
  let before: Int
  let at: Int
  let after: Int
  let weights: SIMD3<Double>

  /// Creates the taps of sample `index` among the `length` samples from `start` on, which `count` cells
  /// cover.
  init(at index: Int, _ start: Int, _ length: Int, _ count: Int) {
    let position = (Double(index - start) + 0.5) * Double(count) / Double(length)
    at = min(Int(position), count - 1)
    before = max(at - 1, 0)
    after = min(at + 1, count - 1)
    let distance = position - Double(at) - 0.5
    weights = [
      (0.5 - distance) * (0.5 - distance) / 2, 0.75 - distance * distance,
      (0.5 + distance) * (0.5 + distance) / 2,
    ]
  }
}
