// Finds the parameters of a lens with which edges that are straight in the scene become straight.
internal import Glibc

/// A lens whose parameters were changed so that lines become straight.
package struct LensFit: Sendable {
  /// A number that was found.
  package struct Found: Sendable, Hashable {
    /// The parameter's word, and for one of several numbers its axis: `radius`, `center x`, `fx`.
    package let name: String
    /// In pixels of the lens's size, or without a unit.
    package let value: Double
    /// The standard error, by the lines' distances. Points that were clicked are taken as exact to 0.3 pixels
    /// at best.
    package let error: Double
  }

  /// The lens found. Its numbers are rounded.
  package let lens: Lens
  /// The points' root mean square distances, in pixels, with the lens given and with the lens found.
  package let before: Double
  package let after: Double
  package let numbers: [Found]
  /// The distances with each curve, if the curve was looked for. Curves that can't be used are not among them.
  package let curves: [Lens.Curve: Double]

  /// Fits parameters of a lens to lines in a picture of this size.
  ///
  /// - Throws: `ParameterError` with key `fit` if a parameter is not one of the lens, or the lines do not determine
  ///   it; with key `line` if the lens given does not see a line.
  package init(
    _ lens: Lens, _ parameters: [LensParameter], to lines: [StraightLine], in size: Size
  ) throws(ParameterError) {
    try LensParameter.check(parameters, of: lens)
    guard !lines.isEmpty else { throw ParameterError("fit", "there are no lines") }
    let map = try LensMap(lens, in: size)
    for line in lines { try line.check(in: map) }
    let problem = LineProblem(lines: lines, size: size, map: map, parameters: parameters)
    try problem.checkCount()
    var nearest: LineProblem.Solution?
    var curves: [Lens.Curve: Double] = [:]
    for candidate in parameters.contains(.curve) ? Lens.Curve.allCases.map({ lens.with($0) }) : [lens] {
      guard let solution = problem.solution(from: candidate) else { continue }
      if case .curve(let curve) = candidate.model { curves[curve] = solution.residuals.rms }
      if nearest.map({ solution.residuals.rms < $0.residuals.rms }) ?? true { nearest = solution }
    }
    guard let best = nearest else { throw ParameterError("fit", "no curve shows all of the lines' points") }
    guard best.doubtful.isEmpty else {
      let names = LensParameter.allCases.filter { best.doubtful.contains($0) }.map(\.rawValue)
      throw ParameterError(
        "fit",
        "the lines do not determine \(names.joined(separator: " and ")): add lines near the picture's edges, in several directions, or fit less"
      )
    }
    if parameters.contains(.curve), let second = curves.values.sorted().dropFirst().first {
      // Twice the standard deviation of what the errors of clicked points change.
      let (squares, noise) = (best.residuals.rms * best.residuals.rms, max(best.residuals.rms, 0.3))
      guard Double(best.residuals.count) * (second * second - squares) > 4 * noise * noise else {
        throw ParameterError(
          "fit",
          "the lines do not determine curve: add long lines near the picture's edges, or name the curve")
      }
    }
    self.lens = best.lens
    before = problem.residuals(of: lens)?.rms ?? 0
    after = best.residuals.rms
    numbers = best.numbers
    self.curves = parameters.contains(.curve) ? curves : [:]
  }
}

extension Lens {
  fileprivate func with(_ curve: Curve) -> Lens {
    var lens = self
    lens.model = .curve(curve)
    return lens
  }
}

/// Lines that should be straight, by the method of Levenberg and Marquardt. The planes of the lines are solved for at
/// each step, so that only the lens's numbers remain.
private struct LineProblem {
  let lines: [StraightLine]
  let size: Size
  /// Of the lens given.
  let map: LensMap
  let parameters: [LensParameter]

  struct Solution {
    let lens: Lens
    let residuals: [Double]
    let numbers: [LensFit.Found]
    /// The parameters that the lines do not determine.
    let doubtful: Set<LensParameter>
  }

  /// The distance that people miss an edge by, at best, in pixels.
  private static let leastNoise = 0.3
  /// The largest standard error of positions in the picture, as a share of its diagonal, with which the lines
  /// determine the numbers. Those of single numbers say little: k1 and k2 may both be off where their sum is not.
  private static let largestMove = 0.01
  /// The least share in the worst move of the picture, of the largest share, with which a number is named.
  private static let leastShare = 0.3
  private static let mostSteps = 100
  private static let mostDamping = 1e8

  private var numbers: [LensNumber] { parameters.flatMap(\.numbers) }

  /// The points that say more than where their line is.
  private var conditions: Int { lines.reduce(0) { $0 + $1.points.count - 2 } }

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
  private func reach(of positions: [SIMD2<Double>]) -> Double {
    let rays = positions.compactMap { map.ray(at: $0) }
    return rays.map { ray in
      let across = hypot(ray.x, ray.y)
      return map.isRectilinear ? across / ray.z : atan2(across, ray.z)
    }.max() ?? 1
  }

  /// Returns the best lens near another one; nil if that can't be used.
  ///
  /// Where the best one would fold the picture beyond the points, a spring pulls the numbers back to those of the other
  /// lens: the weakest with which the picture is whole.
  func solution(from start: Lens) -> Solution? {
    let (numbers, reach) = (self.numbers, reach(of: points))
    let start = start.spelledOut(for: numbers, in: size)
    guard isValid(start), let given = residuals(of: start) else { return nil }
    guard !numbers.isEmpty else { return Solution(lens: start, residuals: given, numbers: [], doubtful: []) }
    let scales = numbers.map { $0.scale(of: start, in: start.size ?? size, reach: reach) }
    var lens = nearest(to: start, scales, nil)
    // Numbers that bend the corners more are held more.
    let (width, height) = (Double(size.width), Double(size.height))
    let farthest = max(self.reach(of: [.zero, [width, 0], [0, height], [width, height]]), reach)
    let held = numbers.map { $0.scale(of: start, in: start.size ?? size, reach: farthest) }
    var strength = 0.01
    while !isValid(lens), strength < 1e5 {
      lens = nearest(to: start, scales, Spring(start: start, scales: held, strength: strength))
      strength *= 1.3
    }
    if !isValid(lens) { lens = start }
    let rounded = self.rounded(lens)
    if isValid(rounded), residuals(of: rounded) != nil { lens = rounded }
    guard let residuals = self.residuals(of: lens) else { return nil }
    let system = self.system(at: lens, scales, residuals, nil)
    return solution(lens, residuals, system, scales, reach)
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

  private func rounded(_ lens: Lens) -> Lens {
    var rounded = lens
    for number in numbers { rounded[number] = number.rounded(lens[number]) }
    if numbers.contains(.focal), var matrix = rounded.matrix {
      matrix.fy = LensNumber.focal.rounded(matrix.fy)
      rounded.matrix = matrix
    }
    return rounded
  }

  private func solution(
    _ lens: Lens, _ residuals: [Double], _ system: LeastSquares, _ scales: [Double], _ reach: Double
  ) -> Solution? {
    let free = max(conditions - numbers.count, 1)
    let deviation = residuals.rms * (Double(residuals.count) / Double(free)).squareRoot()
    let noise = max(deviation, LineProblem.leastNoise)
    let owners = parameters.flatMap { parameter in parameter.numbers.map { _ in parameter } }
    let errors = system.errors
    let found = owners.indices.map { index in
      LensFit.Found(
        name: numbers[index].name ?? owners[index].rawValue, value: lens[numbers[index]],
        error: errors[index] * noise * scales[index])
    }
    guard let moves = PictureMoves(of: lens, in: size, numbers, scales, reach) else { return nil }
    let deviations = system.deviations.map { $0.map { $0 * noise } }
    let sizes = deviations.map { moves.size(of: $0) }
    let total = sizes.reduce(0) { $0 + $1 * $1 }.squareRoot()
    var doubtful: Set<LensParameter> = []
    if total > LineProblem.largestMove * hypot(Double(size.width), Double(size.height)),
      let worst = sizes.indices.max(by: { sizes[$0] < sizes[$1] })
    {
      let shares = owners.indices.map { moves.size(of: deviations[worst][$0], at: $0) }
      let largest = shares.max() ?? 0
      doubtful = Set(
        owners.indices.filter { shares[$0] >= LineProblem.leastShare * largest }.map { owners[$0] })
    }
    return Solution(lens: lens, residuals: residuals, numbers: found, doubtful: doubtful)
  }
}
