// The parameters of a lens that straight lines can determine, and the numbers of which they consist.
internal import Glibc

/// A parameter of a lens that a `LensFit` may change, by the word that people type.
package enum LensParameter: String, Sendable, Hashable, CaseIterable {
  case radius, fov, matrix, center, curve, k1, k2, k3, k4, p1, p2, a, b, c

  /// Parses words separated by commas: `radius,center`.
  ///
  /// - Throws: `ParameterError` with key `fit`.
  package static func list(parsing text: String) throws(ParameterError) -> [LensParameter] {
    var parameters: [LensParameter] = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      let parameter: LensParameter = try ParameterParser.choice("fit", word)
      guard !parameters.contains(parameter) else { throw ParameterError("fit", "\(word) is given twice") }
      parameters.append(parameter)
    }
    return parameters
  }

  /// Returns the parameters as text: `radius, center and curve`.
  package static func text(of parameters: [LensParameter]) -> String {
    let names = parameters.map(\.rawValue)
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return "\(names.dropLast().joined(separator: ", ")) and \(last)"
  }

  /// Checks that the parameters are those of a lens, and that straight lines can determine them.
  ///
  /// - Throws: `ParameterError` with key `fit`.
  static func check(_ parameters: [LensParameter], of lens: Lens) throws(ParameterError) {
    for parameter in parameters {
      if let refusal = parameter.refusal(of: lens) { throw ParameterError("fit", "\(parameter) \(refusal)") }
    }
    let given = Set(parameters)
    if given.isSuperset(of: [.radius, .fov]) {
      throw ParameterError("fit", "radius and fov both give the focal length: fit one of them")
    }
    if given.isSuperset(of: [.matrix, .center]) {
      throw ParameterError("fit", "matrix contains center: fit one of them")
    }
    if given.contains(.curve), !given.isDisjoint(with: [.k1, .k2, .k3, .k4]) {
      throw ParameterError("fit", "curve is that of a lens without k1, k2, k3 and k4: fit one of them")
    }
  }

  /// Returns why the parameter can't be fitted; nil if it can.
  private func refusal(of lens: Lens) -> String? {
    let known: Set<LensParameter>
    let name: String
    switch lens.model {
    case .fisheye(let distortion):
      (name, known) = ("fisheye", [.radius, .fov, .matrix, .center, .curve, .k1, .k2, .k3, .k4])
      if self == .curve, !distortion.isEmpty { return "is that of a lens without distortion" }
    case .curve: (name, known) = ("fisheye with a curve", [.radius, .fov, .matrix, .center, .curve])
    case .pinhole: (name, known) = ("pinhole", [.center, .k1, .k2, .k3, .p1, .p2])
    case .ptlens: (name, known) = ("ptlens", [.center, .a, .b, .c])
    }
    if lens.isRectilinear, [.fov, .matrix, .radius].contains(self) {
      return "of \(name): straight lines do not determine the focal length of such a lens"
    }
    guard known.contains(self) else { return "is not a parameter of \(name)" }
    if lens.matrix != nil, self == .radius || self == .fov { return "does not go with matrix: fit matrix" }
    if lens.matrix == nil, self == .matrix { return "is not given: fit radius and center" }
    return nil
  }

  /// The parameter's numbers.
  var numbers: [LensNumber] {
    switch self {
    case .radius: [.radius]
    case .fov: [.fov]
    case .matrix: [.focal, .centerX, .centerY]
    case .center: [.centerX, .centerY]
    case .curve: []
    case .k1: [.coefficient(0)]
    case .k2: [.coefficient(1)]
    case .k3: [.coefficient(2)]
    case .k4: [.coefficient(3)]
    case .p1: [.tangential(0)]
    case .p2: [.tangential(1)]
    case .a: [.quartic(0)]
    case .b: [.quartic(1)]
    case .c: [.quartic(2)]
    }
  }
}

/// A number of a lens that a `LensFit` changes.
enum LensNumber: Sendable, Hashable {
  case radius, fov, focal, centerX, centerY
  /// k1 is number 0.
  case coefficient(Int)
  /// p1 is number 0.
  case tangential(Int)
  /// a is number 0.
  case quartic(Int)

  /// Its name where a parameter has several numbers.
  var name: String? {
    switch self {
    case .focal: "fx"
    case .centerX: "center x"
    case .centerY: "center y"
    default: nil
    }
  }

  /// Returns the number at which a lens changes about as much as its picture is large. `reach` is the largest
  /// angle, or undistorted radius, of the points.
  func scale(of lens: Lens, in size: Size, reach: Double) -> Double {
    switch self {
    case .radius, .fov, .focal: max(lens[self], 1)
    case .centerX, .centerY: Double(min(size.width, size.height)) / 2
    case .coefficient(let index): power(1 / max(reach, 1e-3), 2 * index + 2)
    case .tangential: 1 / max(reach, 1e-3)
    case .quartic: 1
    }
  }

  /// Returns a value with as many digits as a person wants to paste. Numbers that multiply high powers have more, by
  /// their `scale`: the picture changes by less than a millionth.
  func rounded(_ value: Double, _ scale: Double) -> Double {
    let digits: Double =
      switch self {
      case .radius, .focal, .centerX, .centerY: 100
      case .fov: 1000
      case .coefficient, .tangential, .quartic: max(pow(10, (6 - log10(scale)).rounded(.up)), 1_000_000)
      }
    return (value * digits).rounded() / digits
  }

  private func power(_ base: Double, _ exponent: Int) -> Double {
    (0..<exponent).reduce(1) { product, _ in product * base }
  }

  /// The place in the list of coefficients of `pinhole`, which is k1 k2 p1 p2 k3, or `fisheye`.
  fileprivate func place(in model: Lens.Model) -> Int {
    let isPinhole = if case .pinhole = model { true } else { false }
    return switch self {
    case .coefficient(let index): isPinhole && index > 1 ? index + 2 : index
    case .tangential(let index): index + 2
    case .quartic(let index): index
    case .radius, .fov, .focal, .centerX, .centerY: 0
    }
  }
}

extension Lens {
  /// A number, which `spelledOut(for:in:)` has made explicit.
  subscript(number: LensNumber) -> Double {
    get {
      switch number {
      case .radius: radius ?? 0
      case .fov: fov ?? usualFOV
      case .focal: matrix?.fx ?? 0
      case .centerX: matrix?.cx ?? center?.x ?? 0
      case .centerY: matrix?.cy ?? center?.y ?? 0
      case .coefficient, .tangential, .quartic: coefficients[number.place(in: model)]
      }
    }
    set {
      switch number {
      case .radius: radius = newValue
      case .fov: fov = newValue
      case .focal:
        let factor = newValue / (matrix?.fx ?? 1)
        matrix?.fx = newValue
        matrix?.fy *= factor
      case .centerX: if matrix == nil { center?.x = newValue } else { matrix?.cx = newValue }
      case .centerY: if matrix == nil { center?.y = newValue } else { matrix?.cy = newValue }
      case .coefficient, .tangential, .quartic: coefficients[number.place(in: model)] = newValue
      }
    }
  }

  /// The numbers of the model.
  private var coefficients: [Double] {
    get {
      switch model {
      case .fisheye(let numbers), .pinhole(let numbers): numbers
      case .ptlens(let a, let b, let c): [a, b, c]
      case .curve: []
      }
    }
    set {
      switch model {
      case .fisheye: model = .fisheye(distortion: newValue)
      case .pinhole: model = .pinhole(distortion: newValue)
      case .ptlens: model = .ptlens(a: newValue[0], b: newValue[1], c: newValue[2])
      case .curve: break
      }
    }
  }

  /// Returns the lens with numbers that are larger by these changes.
  func changed(_ numbers: [LensNumber], by changes: [Double]) -> Lens {
    var lens = self
    for (number, change) in zip(numbers, changes) { lens[number] += change }
    return lens
  }

  /// Returns the lens with explicit values of these numbers instead of defaults, and with the size of the pictures in
  /// whose pixels it is.
  func spelledOut(for numbers: [LensNumber], in picture: Size) -> Lens {
    var lens = self
    let whole = size ?? picture
    for number in numbers {
      switch number {
      case .radius: lens.radius = radius ?? Double(min(whole.width, whole.height)) / 2
      case .fov: lens.fov = fov ?? usualFOV
      case .centerX, .centerY:
        if matrix == nil { lens.center = center ?? SIMD2(Double(whole.width), Double(whole.height)) / 2 }
      case .focal, .quartic: break
      case .coefficient, .tangential:
        let missing = number.place(in: model) + 1 - lens.coefficients.count
        if missing > 0 { lens.coefficients += [Double](repeating: 0, count: missing) }
      }
    }
    if lens.hasPixels { lens.size = whole }
    return lens
  }
}
