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

  var shaderOutput: PassVariant.Output { output.ofShader }

  /// The rows of the conversion that are written, by uniform name.
  func conversionRows(_ order: Order) -> [(name: String, row: SIMD4<Float>)] {
    output.rows(of: conversion, order)
  }
}

extension WarpedDrawing {
  var input: PassVariant.Input {
    let hasLuma = signals.contains { $0.signal == .luma }
    let hasChroma = signals.contains { $0.signal == .chroma }
    return switch (hasLuma, hasChroma) {
    // Where the samples of Cb and Cr are makes no difference to positions.
    case (true, true): .both(isApart: true)
    case (false, true): .chroma(isApart: true)
    case (true, false): .luma
    case (false, false): .rgb(step: signals.first?.step ?? 4)
    }
  }
}

extension Drawing.Output {
  var ofShader: PassVariant.Output {
    switch self {
    case .plane: .plane
    case .twoPlanes: .twoPlanes
    case .pixels: .pixels
    }
  }

  /// Returns the rows of a conversion that are written, by uniform name.
  func rows(
    of conversion: ColorConversion, _ order: Drawing.Order = .asNamed
  ) -> [(name: String, row: SIMD4<Float>)] {
    let rows = self == .plane ? [0] : self == .twoPlanes ? [1, 2] : [0, 1, 2]
    return zip(["firstOutput", "secondOutput", "thirdOutput"], rows).map {
      ($0, conversion.row($1, order))
    }
  }

  /// Returns the codes of a colour that are written.
  func codes(_ color: SIMD3<Double>) -> SIMD3<Float> {
    switch self {
    case .plane: SIMD3(repeating: Float(color.x))
    case .twoPlanes: SIMD3(Float(color.y), Float(color.z), 0)
    case .pixels: SIMD3<Float>(color)
    }
  }

  /// Returns the target of a drawing of this size, with four samples or pixels a texel.
  func target(_ size: Size) -> TargetDescription {
    TargetDescription(
      self == .pixels ? .rgba32ui : .rgba8, width: (size.width + 3) / 4, height: size.height,
      outputs: self == .twoPlanes ? 2 : 1)
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
