// What the box shaders need to know of a planned drawing.
internal import PreviewCore
internal import Shaders

extension BoxDrawing {
  /// The shader's variant for the output.
  var shaderOutput: BoxVariant.Output {
    switch output {
    case .plane: .plane
    case .twoPlanes: .twoPlanes
    case .pixels: .pixels
    }
  }

  /// The rows of the conversion that are written, by uniform name.
  var conversionRows: [(name: String, row: SIMD4<Float>)] {
    let rows = output == .plane ? [0] : output == .twoPlanes ? [1, 2] : [0, 1, 2]
    return zip(["firstOutput", "secondOutput", "thirdOutput"], rows).map { ($0, conversion.row($1)) }
  }
}

extension ColorConversion {
  /// The coefficients and offset of output `index`.
  func row(_ index: Int) -> SIMD4<Float> {
    [
      Float(columns[0][index]), Float(columns[1][index]), Float(columns[2][index]), Float(offset[index]),
    ]
  }
}
