// Divides a plane that exceeds the texture size limit: bands of columns below one another, or bands of rows
// side by side. Computation only; the shaders do the same in `inBands`.

struct PlaneBands: Equatable {
  /// Columns and rows of the plane, in texels.
  let plane: Size
  /// Log2 of a band's columns and rows.
  let shiftX: Int
  let shiftY: Int

  struct Band: Equatable {
    /// The position in the plane.
    let source: Rectangle
    /// The position in the texture, of the same size.
    let target: Rectangle
  }

  /// Larger than any plane.
  private static let undivided = 30

  init(_ plane: Size, maximumSide: Int) {
    self.plane = plane
    let largest = Int.bitWidth - 1 - maximumSide.leadingZeroBitCount
    self.shiftX = plane.width > maximumSide ? largest : PlaneBands.undivided
    self.shiftY = plane.height > maximumSide ? largest : PlaneBands.undivided
  }

  var isNeeded: Bool { shiftX != PlaneBands.undivided || shiftY != PlaneBands.undivided }

  private var columnsPerBand: Int { min(plane.width, 1 << shiftX) }
  private var rowsPerBand: Int { min(plane.height, 1 << shiftY) }

  var textureSize: Size {
    let across = (plane.width + columnsPerBand - 1) / columnsPerBand
    let down = (plane.height + rowsPerBand - 1) / rowsPerBand
    return Size(
      width: down > 1 ? plane.width * down : columnsPerBand,
      height: across > 1 ? plane.height * across : rowsPerBand)
  }

  var all: [Band] {
    stride(from: 0, to: plane.height, by: rowsPerBand).flatMap { y in
      stride(from: 0, to: plane.width, by: columnsPerBand).map { x in
        let (width, height) = (min(columnsPerBand, plane.width - x), min(rowsPerBand, plane.height - y))
        return Band(
          source: Rectangle(x: x, y: y, width: width, height: height),
          target: Rectangle(
            x: y / rowsPerBand * plane.width, y: x / columnsPerBand * plane.height, width: width,
            height: height))
      }
    }
  }

  /// The division in the form that the shaders expect.
  var uniform: SIMD4<Int32> {
    [Int32(shiftX), Int32(clamping: plane.height), Int32(shiftY), Int32(clamping: plane.width)]
  }
}
