// Estimates by how much a whole picture has become brighter or darker. Moving objects are treated as a
// minority of outliers.

/// A global change of brightness: code `x` becomes `gain * x + offset`.
struct LightChange: Sendable, Hashable {
  var gain: Float = 1
  var offset: Float = 0

  static let none = LightChange()

  @inline(__always)
  func applied(to code: Float) -> Float { gain * code + offset }

  /// Whether the change is small enough to be a change of light, and not a different picture.
  var isPlausible: Bool { (0.4...2.5).contains(gain) && abs(offset) < 120 }

  /// Fits the change from the background `usual` to `codes` in the cells `seen`.
  ///
  /// There are three guesses: no change, the median difference, and a line through the medians of the darker
  /// and the brighter half (Tukey's resistant line). The guess that explains most cells is refined twice, by
  /// least squares over the cells that it explains.
  init(from usual: [Float], to codes: [UInt8], in seen: [Int]) {
    guard seen.count >= Self.fewest else { return }
    let difference = median(of: seen) { Float(codes[$0]) - usual[$0] }
    let middle = median(of: seen) { usual[$0] }
    var guesses = [LightChange.none, LightChange(gain: 1, offset: difference)]
    let (dark, bright) = (seen.filter { usual[$0] < middle }, seen.filter { usual[$0] >= middle })
    if !dark.isEmpty, !bright.isEmpty {
      let (x0, x1) = (median(of: dark) { usual[$0] }, median(of: bright) { usual[$0] })
      let (y0, y1) = (median(of: dark) { Float(codes[$0]) }, median(of: bright) { Float(codes[$0]) })
      if x1 - x0 > Self.leastContrast {
        let gain = (y1 - y0) / (x1 - x0)
        guesses.append(LightChange(gain: gain, offset: y0 - gain * x0))
      }
    }
    let agreed = guesses.map { guess in guess.agreeing(usual, codes, seen) }
    let best = agreed.indices.max { agreed[$0].count < agreed[$1].count } ?? 0
    self = guesses[best].refined(usual, codes, agreed[best])
    self = refined(usual, codes, agreeing(usual, codes, seen))
  }

  private init(gain: Float, offset: Float) { (self.gain, self.offset) = (gain, offset) }

  init() {}

  private static let fewest = 32
  private static let leastContrast: Float = 16
  private static let tolerance: Float = 5

  /// Returns the cells that this change explains. Codes near 0 and 255 are left out, because they may be
  /// clipped.
  private func agreeing(_ usual: [Float], _ codes: [UInt8], _ seen: [Int]) -> [Int] {
    seen.filter { cell in
      let code = codes[cell]
      return code > 2 && code < 253 && abs(Float(code) - applied(to: usual[cell])) <= Self.tolerance
    }
  }

  private func refined(_ usual: [Float], _ codes: [UInt8], _ cells: [Int]) -> LightChange {
    guard cells.count >= Self.fewest else { return self }
    var (x, y, xx, xy) = (Float(0), Float(0), Float(0), Float(0))
    let (around, count) = (usual[cells[0]], Float(cells.count))
    for cell in cells {
      let (u, v) = (usual[cell] - around, Float(codes[cell]) - around)
      x += u
      y += v
      xx += u * u
      xy += u * v
    }
    let variance = xx / count - (x / count) * (x / count)
    // In a nearly uniform picture, a gain cannot be distinguished from an offset.
    guard variance > Self.leastContrast else { return LightChange(gain: 1, offset: (y - x) / count) }
    let gain = (xy / count - (x / count) * (y / count)) / variance
    return LightChange(gain: gain, offset: around + y / count - gain * (around + x / count))
  }
}

/// Returns the median of values of -256...511, to within one; other values are clamped.
func median(of cells: [Int], _ value: (Int) -> Float) -> Float {
  var counts = [Int](repeating: 0, count: 768)
  for cell in cells {
    let bounded = min(max(value(cell), -256), 511)
    counts[bounded.isNaN ? 256 : Int(bounded.rounded()) + 256] += 1
  }
  var left = cells.count / 2
  for (index, count) in counts.enumerated() {
    left -= count
    if left < 0 { return Float(index - 256) }
  }
  return 0
}
