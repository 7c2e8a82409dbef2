// The shader variant and the colour conversion of a drawing.
internal import Shaders

extension Drawing {
  var input: PassVariant.Input {
    guard lightCrop == nil else { return .light }
    let hasLuma = signals.contains { $0.signal == .luma }
    let chroma = signals.first { $0.signal == .chroma }
    return switch (hasLuma, chroma) {
    case (true, let chroma?): .both(isApart: !chroma.isInOnePlane)
    case (false, let chroma?): .chroma(isApart: !chroma.isInOnePlane)
    case (true, nil): .luma
    case (false, nil): .rgb(step: signals.first?.step ?? 4)
    }
  }

  var shaderOutput: PassVariant.Output {
    switch output {
    case .plane: .plane
    case .twoPlanes: .twoPlanes
    case .pixels: .pixels
    }
  }

  /// The rows of the conversion that are written, by uniform name.
  func conversionRows(_ order: Order) -> [(name: String, row: SIMD4<Float>)] {
    let rows = output == .plane ? [0] : output == .twoPlanes ? [1, 2] : [0, 1, 2]
    return zip(["firstOutput", "secondOutput", "thirdOutput"], rows).map {
      ($0, conversion.row($1, order))
    }
  }
}

extension ColorConversion {
  /// The coefficients and offset of output `index`.
  func row(_ index: Int) -> SIMD4<Float> { row(index, .asNamed) }

  func row(_ index: Int, _ order: Drawing.Order) -> SIMD4<Float> {
    let columns =
      switch order {
      case .asNamed: [0, 1, 2]
      case .chromaSwapped: [0, 2, 1]
      case .reversed: [2, 1, 0]
      }
    let factors = columns.map { Float(self.columns[$0][index]) }
    return [factors[0], factors[1], factors[2], Float(offset[index])]
  }
}
