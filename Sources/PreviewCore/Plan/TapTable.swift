// The taps of a sampling map: the source samples and weights of each output sample. Computed once, in double
// precision, for both renderers, so that they differ only in arithmetic.
internal import Glibc

/// A fixed number of (index, weight) pairs per output sample along an axis.
///
/// A sample's weights add up to 1. Indices lie inside the crop: taps beyond its edge are moved to the edge
/// sample. Unused pairs repeat the last index with weight 0.
package struct TapTable: Sendable, Equatable {
  /// The number of output samples.
  package let sampleCount: Int
  /// Pairs per sample.
  package let tapCount: Int
  /// `sampleCount * tapCount` sample indices in the source plane.
  package let indices: [Int]
  /// `sampleCount * tapCount` weights.
  package let weights: [Double]
  /// The fraction of each output sample that the picture covers, 0...1.
  package let coverage: [Double]

  package init(_ map: SamplingMap) {
    let samples = (0..<map.output.sampleCount).map { index in
      map.coverage(of: index) > 0
        ? map.taps(of: index) : [Tap(index: map.source.samples.lowerBound, weight: 0)]
    }
    self.init(samples, coverage: TapTable.coverage(of: map))
  }

  /// Returns the fraction of each output sample that the picture covers, 0...1.
  package static func coverage(of map: SamplingMap) -> [Double] {
    (0..<map.output.sampleCount).map(map.coverage(of:))
  }

  private init(_ samples: [[Tap]], coverage: [Double]) {
    let tapCount = samples.reduce(1) { max($0, $1.count) }
    var indices: [Int] = []
    var weights: [Double] = []
    indices.reserveCapacity(samples.count * tapCount)
    weights.reserveCapacity(samples.count * tapCount)
    for taps in samples {
      for position in 0..<tapCount {
        indices.append(taps[min(position, taps.count - 1)].index)
        weights.append(position < taps.count ? taps[position].weight : 0)
      }
    }
    self.sampleCount = samples.count
    self.tapCount = tapCount
    self.indices = indices
    self.weights = weights
    self.coverage = coverage
  }
}

private struct Tap {
  let index: Int
  let weight: Double
}

extension SamplingMap {
  /// Returns the taps of one output sample in index order, merged at the crop's edges.
  fileprivate func taps(of index: Int) -> [Tap] {
    let position = position(of: index)
    switch kernel {
    case .nearest: return clamped([Tap(index: nearest(to: position), weight: 1)])
    case .bilinear: return clamped(bilinear(around: position))
    case .box: return clamped(box(around: position))
    case .bicubic: return clamped(widened(around: position, radius: 2) { cubic($0, b: 0, c: 1 / 2) })
    case .mitchell: return clamped(widened(around: position, radius: 2) { cubic($0, b: 1 / 3, c: 1 / 3) })
    case .lanczos: return clamped(widened(around: position, radius: 3, lanczos3))
    }
  }

  /// Returns the sample that contains `position`, as the view shows it; on a boundary, the one shown later.
  private func nearest(to position: Int) -> Int {
    source.isReversed
      ? -floorDivide(-position, by: denominator) - 1 : floorDivide(position, by: denominator)
  }

  private func bilinear(around position: Int) -> [Tap] {
    let fromCentre = position - denominator / 2
    let index = floorDivide(fromCentre, by: denominator)
    let fraction = Double(fromCentre - index * denominator) / Double(denominator)
    return [Tap(index: index, weight: 1 - fraction), Tap(index: index + 1, weight: fraction)]
  }

  /// Weights each sample by its part within half a ratio of `position`.
  private func box(around position: Int) -> [Tap] {
    let start = position - ratio / 2
    let end = position + ratio / 2
    let first = floorDivide(start, by: denominator)
    let last = floorDivide(end - 1, by: denominator)
    return (first...last).map { index in
      let covered = min(end, (index + 1) * denominator) - max(start, index * denominator)
      return Tap(index: index, weight: Double(covered) / Double(ratio))
    }
  }

  /// Samples `kernel`, which is 0 beyond `radius`, and normalises the weights. A ratio above 1 widens the
  /// kernel, which prevents aliasing.
  private func widened(around position: Int, radius: Double, _ kernel: (Double) -> Double) -> [Tap] {
    let centre = Double(position) / Double(denominator)
    let scale = max(1, Double(ratio) / Double(denominator))
    let reach = radius * scale
    let first = Int((centre - reach - 0.5).rounded(.down))
    let last = Int((centre + reach - 0.5).rounded(.up))
    let taps = (first...last).map { index in
      Tap(index: index, weight: kernel((Double(index) + 0.5 - centre) / scale))
    }
    let sum = taps.reduce(0) { $0 + $1.weight }
    return taps.filter { abs($0.weight) > 1e-12 }.map { Tap(index: $0.index, weight: $0.weight / sum) }
  }

  /// Moves taps beyond the crop to its edge samples.
  private func clamped(_ taps: [Tap]) -> [Tap] {
    let bounds = source.samples
    return taps.reduce(into: []) { merged, tap in
      guard tap.weight != 0 else { return }
      let index = min(max(tap.index, bounds.lowerBound), bounds.upperBound)
      if let last = merged.last, last.index == index {
        merged[merged.count - 1] = Tap(index: index, weight: last.weight + tap.weight)
      } else {
        merged.append(Tap(index: index, weight: tap.weight))
      }
    }
  }
}

/// Returns the cubics of D. Mitchell and A. Netravali ("Reconstruction Filters in Computer Graphics",
/// SIGGRAPH 1988) for |x| < 2, else 0. With b = 0 they are the kernels of R. Keys ("Cubic Convolution
/// Interpolation for Digital Image Processing", IEEE Trans. ASSP 29, 1981) for a = -c; c = 1/2 is the
/// Catmull-Rom spline.
private func cubic(_ x: Double, b: Double, c: Double) -> Double {
  let x = abs(x)
  guard x >= 1 else { return (((12 - 9 * b - 6 * c) * x + (12 * b + 6 * c - 18)) * x * x + 6 - 2 * b) / 6 }
  guard x < 2 else { return 0 }
  return (((-b - 6 * c) * x + (6 * b + 30 * c)) * x * x - (12 * b + 48 * c) * x + 8 * b + 24 * c) / 6
}

/// Returns the Lanczos kernel (C. Lanczos; Duchon 1979): sinc(x) sinc(x / 3) for |x| < 3, else 0.
private func lanczos3(_ x: Double) -> Double {
  guard abs(x) < 3 else { return 0 }
  guard abs(x) > 1e-12 else { return 1 }
  let angle = Double.pi * x
  return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
}
