// One pass of a plan: each output sample is the mean of its positions, filtered and converted.
internal import PreviewCore

/// Executes one pass, sample by sample.
struct PassExecutor {
  let pass: PlanePass
  let light: Filter.Light
  let signals: [SignalSampler]

  init(_ pass: PlanePass, of view: PlannedView, from frame: Frame) {
    self.pass = pass
    self.light = view.light
    self.signals = pass.inputs.map { SignalSampler($0, of: view, from: frame) }
  }

  /// Returns the plane's bytes, row by row.
  func samples() -> [UInt8] {
    var bytes: [UInt8] = []
    for row in 0..<pass.size.height {
      for column in 0..<pass.size.width {
        let color = sample(column, row)
        switch pass.output {
        case .rgba: bytes += [code(color.x), code(color.y), code(color.z), 255]
        case .component(let component): bytes.append(code(color[component]))
        }
      }
    }
    return bytes
  }

  /// Returns the mean of the converted positions of an output sample.
  private func sample(_ column: Int, _ row: Int) -> SIMD3<Double> {
    let step = pass.positionsPerSample
    var sum = SIMD3<Double>.zero
    for y in 0..<step.y {
      for x in 0..<step.x {
        sum += position(
          min(column * step.x + x, pass.positions.width - 1), min(row * step.y + y, pass.positions.height - 1)
        )
      }
    }
    return sum / Double(step.x * step.y)
  }

  /// Returns the converted colour at a position, blended over the background by its coverage.
  private func position(_ column: Int, _ row: Int) -> SIMD3<Double> {
    var codes = SIMD3<Double>(repeating: 128)
    for sampler in signals {
      let values = sampler.values(column, row)
      switch sampler.signal {
      case .rgb: codes = encoded(values)
      case .luma: codes.x = values.x
      case .chroma: (codes.y, codes.z) = (values.y, values.z)
      }
    }
    let coverage = signals.first?.coverage(column, row) ?? 0
    return pass.conversion(codes) * coverage + pass.background * (1 - coverage)
  }

  /// Returns the R'G'B' codes of a filtered value, clamped.
  private func encoded(_ filtered: SIMD3<Double>) -> SIMD3<Double> {
    let clamped = filtered.clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
    return light == .linear ? clamped.mapped { TransferFunction.encoded($0 / 255) * 255 } : clamped
  }
}

/// Clamps, and rounds half up. Exact halves are common (the mean of an even number of codes), and sums of
/// doubles fall short of them by about 1e-14. The slack is far above that, and far below any difference
/// between codes.
func code(_ value: Double) -> UInt8 {
  let slack = 1e-9
  return UInt8((min(max(value, 0), 255) + 0.5 + slack).rounded(.down))
}

extension SIMD3 where Scalar == Double {
  func mapped(_ transform: (Double) -> Double) -> SIMD3<Double> {
    [transform(x), transform(y), transform(z)]
  }
}
