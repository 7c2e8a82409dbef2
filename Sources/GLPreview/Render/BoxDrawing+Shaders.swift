// What shaders must know of a drawing: the variant that reads its samples, and the order in which it sees components.
internal import PreviewCore
internal import Shaders

extension PackedSignal {
  /// Which bytes of a packed row belong to it, of `Y0 Cb Y1 Cr` for example: every other one, from the first or from
  /// the second; nil if all do. Its sums hold only these.
  var half: Int? {
    guard step == 2 * components.count, signal != .rgb, isInOnePlane else { return nil }
    return components[0].first % 2
  }

  var isInOnePlane: Bool { components.allSatisfy { $0.plane == components[0].plane } }

  /// How its samples lie in sums of rows. Light has four a texel.
  func layout(_ drawing: BoxDrawing) -> ColumnWeights.Layout {
    ColumnWeights.Layout(step: drawing.lightCrop != nil ? 2 : half == nil ? step : step / 2)
  }
}

extension BoxDrawing {
  /// The order in which shaders see the three components.
  enum Order { case asNamed, chromaSwapped, reversed }

  var order: Order {
    guard lightCrop == nil else { return .asNamed }
    for signal in signals {
      switch signal.signal {
      case .rgb where signal.components[0].first > signal.components[2].first: return .reversed
      // Those of separate planes are bound by name.
      case .chroma
      where signal.components[0].plane == signal.components[1].plane
        && signal.components[0].first > signal.components[1].first:
        return .chromaSwapped
      default: break
      }
    }
    return .asNamed
  }

  func inOrder(_ color: RGBColor) -> SIMD3<Float> {
    let codes = SIMD3<Float>(color.codes)
    return order == .reversed ? SIMD3(codes.z, codes.y, codes.x) : codes
  }

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
}

extension ColorConversion {
  /// The coefficients and offset of output `index`.
  func row(_ index: Int) -> SIMD4<Float> { row(index, .asNamed) }

  func row(_ index: Int, _ order: BoxDrawing.Order) -> SIMD4<Float> {
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
