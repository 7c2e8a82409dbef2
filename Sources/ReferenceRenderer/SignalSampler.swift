// Samples one signal of a frame at a position of an output plane: the weighted sum over its taps, of samples
// as codes from 0 to 255.
internal import PreviewCore

/// A signal, sampled through a view's maps.
struct SignalSampler {
  let signal: Signal
  private let positions: Positions
  private let source: SignalSource

  private enum Positions {
    case axes(AxisTaps)
    case warp(WarpSampling)
  }

  init(_ input: SignalInput, of view: PlannedView, from frame: Frame) {
    signal = input.signal
    positions =
      switch input.positions {
      case .axes(let maps): .axes(AxisTaps(maps))
      case .warp(let sampling): .warp(sampling)
      }
    source = SignalSource(input.signal, of: view, from: frame)
  }

  /// Returns the fraction of the position that the picture covers, 0...1.
  func coverage(_ column: Int, _ row: Int) -> Double {
    switch positions {
    case .axes(let taps): taps.horizontal.coverage[column] * taps.vertical.coverage[row]
    case .warp(let sampling): sampling.coverage(column, row)
    }
  }

  /// Returns the weighted sum of the samples: R, G, B; or Y' as the first; or Cb, Cr as the last two. Codes
  /// 0...255, or linear light times 255.
  func values(_ column: Int, _ row: Int) -> SIMD3<Double> {
    switch positions {
    case .axes(let taps): taps.values(column, row, of: source)
    case .warp(let sampling): sampling.values(column, row, of: source)
    }
  }
}

/// The taps of columns and rows.
private struct AxisTaps {
  let horizontal: TapTable
  let vertical: TapTable
  private let swapsAxes: Bool

  init(_ maps: AxisMaps) {
    (horizontal, vertical, swapsAxes) = (TapTable(maps.horizontal), TapTable(maps.vertical), maps.swapsAxes)
  }

  func values(_ column: Int, _ row: Int, of source: SignalSource) -> SIMD3<Double> {
    var sum = SIMD3<Double>.zero
    for y in 0..<vertical.tapCount {
      let (rowIndex, rowWeight) = vertical.tap(y, of: row)
      for x in 0..<horizontal.tapCount {
        let (columnIndex, columnWeight) = horizontal.tap(x, of: column)
        guard rowWeight != 0, columnWeight != 0 else { continue }
        let values =
          swapsAxes
          ? source.values(x: rowIndex, y: columnIndex) : source.values(x: columnIndex, y: rowIndex)
        sum += values * (rowWeight * columnWeight)
      }
    }
    return sum
  }
}

extension TapTable {
  fileprivate func tap(_ tap: Int, of sample: Int) -> (index: Int, weight: Double) {
    (indices[sample * tapCount + tap], weights[sample * tapCount + tap])
  }
}

extension WarpSampling {
  /// The fraction of an output sample's positions that show the source, 0...1.
  fileprivate func coverage(_ column: Int, _ row: Int) -> Double {
    let (count, shown) = positions(column, row)
    return count == .zero ? 0 : Double(shown.count) / Double(count.x * count.y)
  }

  /// Returns the mean over the positions that show the source.
  fileprivate func values(_ column: Int, _ row: Int, of source: SignalSource) -> SIMD3<Double> {
    let (_, shown) = positions(column, row)
    var sum = SIMD3<Double>.zero
    for position in shown {
      let (left, columnWeights) = taps(position.x, columns)
      let (top, rowWeights) = taps(position.y, rows)
      for (y, rowWeight) in rowWeights.enumerated() {
        for (x, columnWeight) in columnWeights.enumerated() {
          let weight =
            Double(rowWeight * columnWeight) / Double(WarpSampling.weightTotal * WarpSampling.weightTotal)
          sum +=
            source.values(x: columns.samples.nearest(left + x), y: rows.samples.nearest(top + y)) * weight
        }
      }
    }
    return shown.isEmpty ? sum : sum / Double(shown.count)
  }

  /// The number of an output sample's positions, and those in the stored picture that show the source.
  private func positions(_ column: Int, _ row: Int) -> (count: SIMD2<Int>, shown: [SIMD2<Int>]) {
    let count = count(column, row)
    var shown: [SIMD2<Int>] = []
    for y in 0..<count.y {
      for x in 0..<count.x {
        let point = point(column, row, [x, y], of: count)
        let position = grid.position(at: point)
        if shows(point, position) { shown.append(position) }
      }
    }
    return (count, shown)
  }
}

extension ClosedRange<Int> {
  fileprivate func nearest(_ index: Int) -> Int { Swift.min(Swift.max(index, lowerBound), upperBound) }
}

/// Reads one signal of a frame.
private struct SignalSource {
  private let signal: Signal
  private let light: Filter.Light
  private let background: SIMD3<Double>
  private let crop: Rectangle
  private let bytes: [UInt8]
  private let framePlanes: [Frame.Plane]
  private let format: Frame.Format
  private let model: ColorModel
  private let planes: [PlaneDescription]
  private let decoding: ColorConversion

  init(_ signal: Signal, of view: PlannedView, from frame: Frame) {
    self.signal = signal
    self.light = view.light
    self.background = view.background.codes
    self.crop = view.crop
    self.bytes = frame.bytes
    self.framePlanes = frame.planes
    self.format = frame.format
    self.model = frame.format.pixelFormat.model
    self.planes = frame.format.pixelFormat.planes
    self.decoding = ColorConversion(rgbFrom: frame.format.color)
  }

  /// Returns the signal's values at column `x`, row `y` of its own grid: R, G, B; or Y' as the first; or Cb,
  /// Cr as the last two.
  func values(x: Int, y: Int) -> SIMD3<Double> {
    switch (signal, model) {
    case (.luma, .luma(let luma)), (.luma, .ycbcr(let luma, _, _)): [code(luma, x, y), 0, 0]
    case (.chroma, .ycbcr(_, let cb, let cr)): [0, code(cb, x, y), code(cr, x, y)]
    case (.rgb, .rgb(let red, let green, let blue, let alpha)):
      inLight(
        overBackground([code(red, x, y), code(green, x, y), code(blue, x, y)], alpha.map { code($0, x, y) }))
    case (.rgb, .luma(let luma)): inLight(decoding([code(luma, x, y), 128, 128]))
    case (.rgb, .ycbcr(let luma, let cb, let cr)):
      inLight(decoding([code(luma, x, y), upsampled(cb, x, y), upsampled(cr, x, y)]))
    case (.luma, .rgb), (.chroma, .rgb), (.chroma, .luma): .zero
    }
  }

  private func code(_ component: Component, _ x: Int, _ y: Int) -> Double {
    let texel = planes[component.plane].texel
    let plane = framePlanes[component.plane]
    let column = x * component.texelStep + component.texelOffset
    let byte =
      plane.offset + y * plane.bytesPerRow + column * texel.byteCount
      + component.channel * texel.bytesPerChannel
    guard texel.bytesPerChannel == 2 else { return Double(bytes[byte]) }
    let word = (bytes[byte], bytes[byte + 1])
    return Double(UInt16(littleEndian: UInt16(word.0) | UInt16(word.1) << 8)) / 257
  }

  private func overBackground(_ color: SIMD3<Double>, _ alpha: Double?) -> SIMD3<Double> {
    guard let alpha else { return color }
    return color * (alpha / 255) + background * (1 - alpha / 255)
  }

  private func inLight(_ color: SIMD3<Double>) -> SIMD3<Double> {
    light == .linear ? color.mapped { TransferFunction.linear($0 / 255) * 255 } : color
  }

  /// Returns chroma at the luma sample (`x`, `y`), interpolated bilinearly between the samples of the crop.
  private func upsampled(_ component: Component, _ x: Int, _ y: Int) -> Double {
    let left = format.color.siting == .left
    let across = neighbours(x, component.subsampling.x, isLeft: left, crop.x, crop.width)
    let down = neighbours(y, component.subsampling.y, isLeft: false, crop.y, crop.height)
    func row(_ y: Int) -> Double {
      code(component, across.first, y) * (1 - across.fraction) + code(component, across.second, y)
        * across.fraction
    }
    return row(down.first) * (1 - down.fraction) + row(down.second) * down.fraction
  }

  /// Returns the two samples around the centre of pixel `index`, and its distance from the first.
  private func neighbours(_ index: Int, _ step: Int, isLeft: Bool, _ start: Int, _ length: Int)
    -> (first: Int, second: Int, fraction: Double)
  {
    let siting = isLeft ? 0.5 - 0.5 / Double(step) : 0
    let position = (Double(index) + 0.5) / Double(step) + siting - 0.5
    let first = position.rounded(.down)
    let pixels = 8 * step
    let end = (start + length) * format.eighths
    let bounds = start * format.eighths / pixels...(end + pixels - 1) / pixels - 1
    func clamped(_ index: Int) -> Int { min(max(index, bounds.lowerBound), bounds.upperBound) }
    return (clamped(Int(first)), clamped(Int(first) + 1), position - first)
  }
}
