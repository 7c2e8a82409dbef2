// Finds the parameters of a lens with which edges that are straight in the scene become straight.

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
  /// The standard error of positions in the picture, in pixels: the root mean square of what the numbers' errors move
  /// them by, less the part that a rotation of the camera does.
  package let uncertainty: Double
  /// The parameters that more exact points would determine, but these do not: the uncertainty is more than 1 % of the
  /// picture's diagonal, another curve makes the lines about as straight, or there are no more points than numbers, so
  /// that nothing shows the points' errors.
  package let uncertain: [LensParameter]

  /// Fits parameters of a lens to lines in a picture of this size.
  ///
  /// - Throws: `ParameterError` with key `fit` if a parameter is not one of the lens, or the lines could not determine
  ///   it with exact points either; with key `line` if the lens given does not see a line.
  package init(
    _ lens: Lens, _ parameters: [LensParameter], to lines: [StraightLine], in size: Size
  ) throws(ParameterError) {
    try LensParameter.check(parameters, of: lens)
    guard !lines.isEmpty else { throw ParameterError("fit", "there are no lines") }
    let map = try LensMap(lens, in: size)
    for line in lines { try line.check(in: map) }
    let problem = LineProblem(lines: lines, size: size, map: map, parameters: parameters)
    try problem.checkCount()
    let fitsCurve = parameters.contains(.curve)
    let starts = fitsCurve ? Lens.Curve.allCases.map { lens.with($0) } : [lens]
    let solutions = starts.compactMap { problem.solution(from: $0) }
    guard let best = solutions.min(by: { $0.residuals.rms < $1.residuals.rms }) else {
      throw ParameterError("fit", "no lens near the given one shows all of the lines' points")
    }
    try best.check()
    // With other curves.
    let others = solutions.filter { $0.lens.model != best.lens.model }
    guard others.allSatisfy({ best.isDistinct(from: $0.residuals) }) else {
      throw ParameterError(
        "fit", "the lines do not determine curve: add long lines near the picture's edges, or name the curve")
    }
    let rivals = others.filter { !best.isBetter(than: $0.residuals) }
    var doubtful = best.uncertainty.parameters
    if !rivals.isEmpty { doubtful.insert(.curve) }
    if !problem.hasSpare { doubtful.formUnion(parameters) }
    self.lens = best.lens
    before = problem.residuals(of: lens)?.rms ?? 0
    after = best.residuals.rms
    numbers = best.numbers
    let distances = solutions.compactMap { $0.curve }
    curves = fitsCurve ? Dictionary(distances, uniquingKeysWith: { first, _ in first }) : [:]
    uncertainty = rivals.reduce(best.uncertainty.size) { max($0, best.moves.size(to: $1.map) / 2) }
    uncertain = LensParameter.allCases.filter { doubtful.contains($0) }
  }
}

extension Lens {
  fileprivate func with(_ curve: Curve) -> Lens {
    var lens = self
    lens.model = .curve(curve)
    return lens
  }
}
