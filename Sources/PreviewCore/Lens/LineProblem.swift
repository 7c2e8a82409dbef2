// The numbers of a lens with which lines become straight, by nonlinear least squares, and their errors.
internal import Glibc

/// Lines that should be straight, by the method of Levenberg and Marquardt. The planes of the lines are solved for at
/// each step, so that only the lens's numbers remain.
struct LineProblem {
  let lines: [StraightLine]
  let size: Size
  /// Of the lens given.
  let map: LensMap
  let parameters: [LensParameter]

  /// The error of positions in the picture that errors of the points cause.
  struct Uncertainty {
    /// Its root mean square, in pixels.
    let size: Double
    /// The parameters that cause it, if it is too large.
    let parameters: Set<LensParameter>
  }

  /// A lens that was found.
  struct Solution {
    let lens: Lens
    let map: LensMap
    let residuals: [Double]
    let numbers: [LensFit.Found]
    let moves: PictureMoves
    /// The standard error of the distances.
    let noise: Double
    /// The uncertainty with that noise, and with the least.
    let uncertainty: Uncertainty
    let leastUncertainty: Uncertainty
    /// The largest angle that the lens sees between the ends of a line, in degrees.
    let span: Double

    /// The lens's curve and its distances; nil if it is not an ideal fisheye.
    var curve: (Lens.Curve, Double)? {
      if case .curve(let curve) = lens.model { (curve, residuals.rms) } else { nil }
    }

    /// Checks that exact points would determine the numbers, and that the lines may be straight.
    ///
    /// - Throws: `ParameterError` with key `fit`.
    func check() throws(ParameterError) {
      let advice = "add lines near the picture's edges, in several directions, or fit less"
      guard leastUncertainty.parameters.isEmpty else {
        let names = LensParameter.allCases.filter { leastUncertainty.parameters.contains($0) }
        throw ParameterError("fit", "the lines do not determine \(LensParameter.text(of: names)): \(advice)")
      }
      guard span < LineProblem.largestSpan else {
        let degrees = span.rounded().shortText
        throw ParameterError(
          "fit",
          "with the best numbers a line spans \(degrees) degrees, but a straight one less than 180: \(advice)"
        )
      }
    }

    /// Returns whether exact points would show that a lens with other distances is another one.
    func isDistinct(from others: [Double]) -> Bool {
      LineProblem.differ(residuals, others, by: LineProblem.leastNoise)
    }

    /// Returns whether the points show that a lens with other distances is worse.
    func isBetter(than others: [Double]) -> Bool { LineProblem.exceed(others, residuals, by: noise) }
  }

  /// Returns whether distances differ by more than twice the error that a noise of the points would mean.
  private static func differ(_ one: [Double], _ other: [Double], by noise: Double) -> Bool {
    zip(one, other).map { $0 - $1 }.squares > 4 * noise * noise
  }

  /// Returns whether distances are larger than others by more than twice the error that a noise of the points means.
  private static func exceed(_ one: [Double], _ other: [Double], by noise: Double) -> Bool {
    one.squares - other.squares > 4 * noise * noise
  }

  /// The distance that people miss an edge by, at best, in pixels.
  private static let leastNoise = 0.3
  /// The largest standard error of positions in the picture, as a share of its diagonal, with which the lines
  /// determine the numbers. Those of single numbers say little: k1 and k2 may both be off where their sum is not.
  private static let largestMove = 0.01
  /// The least share in a move of the picture, of the largest share, with which a number is named.
  private static let leastShare = 0.3
  /// In degrees. Points that are off may lie a little beyond a straight line's ends.
  private static let largestSpan = 190.0
  private static let mostSteps = 100
  private static let mostDamping = 1e8

  private var numbers: [LensNumber] { parameters.flatMap(\.numbers) }

  /// The points that say more than where their line is.
  private var conditions: Int { lines.reduce(0) { $0 + $1.points.count - 2 } }

  /// Whether there are more points than numbers, so that distances show the points' errors.
  var hasSpare: Bool { conditions > numbers.count }

  /// Checks that there are at least as many points as numbers.
  ///
  /// - Throws: `ParameterError` with key `fit`.
  func checkCount() throws(ParameterError) {
    guard conditions < numbers.count else { return }
    throw ParameterError(
      "fit",
      "\(numbers.count) numbers need \(numbers.count) points beside the first two of each line, not \(conditions)"
    )
  }

  private var points: [SIMD2<Double>] { lines.flatMap(\.points) }

  /// Returns the distances of all points; nil if the lens does not see a point. Beyond the points, the lens may fold
  /// the picture: otherwise the way to a good lens would end at the first one that does.
  func residuals(of lens: Lens) -> [Double]? {
    guard let map = try? LensMap(lens, in: size, reaching: points) else { return nil }
    var all: [Double] = []
    for line in lines {
      guard let distances = line.distances(through: map) else { return nil }
      all += distances
    }
    return all.allSatisfy(\.isFinite) ? all : nil
  }

  private func isValid(_ lens: Lens) -> Bool { (try? LensMap(lens, in: size)) != nil }

  /// Returns the largest angle, or undistorted radius, of positions.
  private func reach(of positions: [SIMD2<Double>], _ map: LensMap) -> Double {
    let rays = positions.compactMap { map.ray(at: $0) }
    return rays.map { ray in
      let across = hypot(ray.x, ray.y)
      return map.isRectilinear ? across / ray.z : atan2(across, ray.z)
    }.max() ?? 1
  }

  /// Returns the best lens near another one, with its errors; nil if the other one can't be used.
  func solution(from given: Lens) -> Solution? {
    let start = given.spelledOut(for: numbers, in: size)
    guard isValid(start), let before = residuals(of: start) else { return nil }
    let reach = self.reach(of: points, map)
    let scales = numbers.map { $0.scale(of: start, in: start.size ?? size, reach: reach) }
    let lens = numbers.isEmpty ? start : best(near: start, scales, reach)
    return solution(lens, scales, start, before)
  }

  /// Returns the best lens near another one.
  ///
  /// Where it would fold the picture beyond the points, a spring pulls the numbers back to those of the other lens: the
  /// weakest with which the picture is whole.
  private func best(near start: Lens, _ scales: [Double], _ reach: Double) -> Lens {
    var lens = nearest(to: start, scales, nil)
    // Numbers that bend the corners more are held more.
    let (width, height) = (Double(size.width), Double(size.height))
    let farthest = max(self.reach(of: [.zero, [width, 0], [0, height], [width, height]], map), reach)
    let held = numbers.map { $0.scale(of: start, in: start.size ?? size, reach: farthest) }
    var strength = 0.01
    while !isValid(lens), strength < 1e5 {
      lens = nearest(to: start, scales, Spring(start: start, scales: held, strength: strength))
      strength *= 2
    }
    if !isValid(lens) { lens = start }
    let rounded = self.rounded(lens, scales)
    return isValid(rounded) && residuals(of: rounded) != nil ? rounded : lens
  }

  /// A pull of numbers back to those of a lens: a change by a number's scale is as bad as a distance of `strength`.
  private struct Spring {
    let start: Lens
    let scales: [Double]
    let strength: Double
  }

  /// Returns the distances of all points, and the spring's; nil if the lens can't be used.
  private func residuals(of lens: Lens, _ spring: Spring?) -> [Double]? {
    guard let distances = residuals(of: lens), let spring else { return residuals(of: lens) }
    return distances
      + zip(numbers, spring.scales).map { spring.strength * (lens[$0] - spring.start[$0]) / $1 }
  }

  /// Returns the lens near another one whose distances are smallest.
  private func nearest(to start: Lens, _ scales: [Double], _ spring: Spring?) -> Lens {
    var lens = start
    guard var residuals = self.residuals(of: lens, spring) else { return start }
    var damping = 1e-3
    for _ in 0..<LineProblem.mostSteps {
      let system = self.system(at: lens, scales, residuals, spring)
      guard let next = step(from: lens, residuals, system, scales, spring, &damping) else { break }
      let gain = 1 - next.residuals.rms / residuals.rms
      (lens, residuals) = next
      if gain < 1e-9 { break }
    }
    return lens
  }

  /// Returns a lens with smaller distances; nil if there is none.
  private func step(
    from lens: Lens, _ residuals: [Double], _ system: LeastSquares, _ scales: [Double], _ spring: Spring?,
    _ damping: inout Double
  ) -> (lens: Lens, residuals: [Double])? {
    while damping < LineProblem.mostDamping {
      let next = lens.changed(numbers, by: zip(system.step(damping: damping), scales).map { $0 * $1 })
      if let found = self.residuals(of: next, spring), found.rms < residuals.rms {
        damping = max(damping / 10, 1e-12)
        return (next, found)
      }
      damping *= 10
    }
    return nil
  }

  /// Returns the linear equations near a lens, by central differences.
  private func system(
    at lens: Lens, _ scales: [Double], _ residuals: [Double], _ spring: Spring?
  ) -> LeastSquares {
    let step = 1e-5
    var columns: [[Double]] = []
    for (number, scale) in zip(numbers, scales) {
      let high = self.residuals(of: lens.changed([number], by: [step * scale]), spring)
      let low = self.residuals(of: lens.changed([number], by: [-step * scale]), spring)
      // At the end of a number's range there is a lens on one side only.
      let width = high == nil || low == nil ? step : 2 * step
      columns.append(zip(high ?? residuals, low ?? residuals).map { ($0 - $1) / width })
    }
    return LeastSquares(columns, residuals)
  }

  private func rounded(_ lens: Lens, _ scales: [Double]) -> Lens {
    var rounded = lens
    for (number, scale) in zip(numbers, scales) { rounded[number] = number.rounded(lens[number], scale) }
    if numbers.contains(.focal), var matrix = rounded.matrix {
      matrix.fy = LensNumber.focal.rounded(matrix.fy, matrix.fy)
      rounded.matrix = matrix
    }
    return rounded
  }

  /// Returns a lens that was found, with its errors. `before` are the distances with `start`.
  private func solution(
    _ lens: Lens, _ scales: [Double], _ start: Lens, _ before: [Double]
  ) -> Solution? {
    guard let residuals = self.residuals(of: lens), let map = try? LensMap(lens, in: size),
      let startMap = try? LensMap(start, in: size),
      let moves = PictureMoves(of: lens, in: size, numbers, scales, self.reach(of: points, map))
    else { return nil }
    let free = max(conditions - numbers.count, 1)
    let deviation = residuals.rms * (Double(residuals.count) / Double(free)).squareRoot()
    let (least, noise) = (LineProblem.leastNoise, max(deviation, LineProblem.leastNoise))
    let owners = parameters.flatMap { parameter in parameter.numbers.map { _ in parameter } }
    let system = self.system(at: lens, scales, residuals, nil)
    let errors = system.errors
    let found = owners.indices.map { index in
      LensFit.Found(
        name: numbers[index].name ?? owners[index].rawValue, value: lens[numbers[index]],
        error: errors[index] * noise * scales[index])
    }
    // The errors are linear. If the lens given is as good, then half the way to it is an error too.
    let way = moves.size(to: startMap) / 2
    let isOther = LineProblem.differ(residuals, before, by: least)
    let isWorse = LineProblem.exceed(before, residuals, by: noise)
    return Solution(
      lens: lens, map: map, residuals: residuals, numbers: found, moves: moves, noise: noise,
      uncertainty: uncertainty(moves, system.deviations, owners, noise, isWorse ? 0 : way),
      leastUncertainty: uncertainty(moves, system.deviations, owners, least, isOther ? 0 : way),
      span: lines.compactMap { $0.span(through: map) }.max() ?? 0)
  }

  /// Returns the uncertainty with a noise of the points, at least `way`. Each of the deviations has the changes of
  /// all numbers.
  private func uncertainty(
    _ moves: PictureMoves, _ deviations: [[Double]], _ owners: [LensParameter], _ noise: Double, _ way: Double
  ) -> Uncertainty {
    let sizes = deviations.map { moves.size(of: $0) * noise }
    let error = max(sizes.reduce(0) { $0 + $1 * $1 }.squareRoot(), way)
    let limit = LineProblem.largestMove * hypot(Double(size.width), Double(size.height))
    guard error > limit, let largest = sizes.max() else { return Uncertainty(size: error, parameters: []) }
    var names: Set<LensParameter> = []
    for (size, deviation) in zip(sizes, deviations) where size >= min(largest, limit) {
      let shares = owners.indices.map { moves.size(of: deviation[$0], at: $0) }
      let least = LineProblem.leastShare * (shares.max() ?? 0)
      names.formUnion(zip(owners, shares).filter { $1 >= least }.map { $0.0 })
    }
    return Uncertainty(size: error, parameters: names)
  }
}

extension [Double] {
  fileprivate var squares: Double { reduce(0) { $0 + $1 * $1 } }
}
