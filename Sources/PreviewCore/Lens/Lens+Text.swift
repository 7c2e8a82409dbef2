// The text form of a lens, which `--lens`, `--view`, configuration files and URLs share.

extension Lens: CustomStringConvertible {
  private static let models = ["fisheye", "pinhole", "ptlens"]
  private static let keys = ["curve", "matrix", "size", "distortion", "fov", "center", "radius"]

  /// Parses a model and any of its keys, separated by spaces: `fisheye fov 190`, `fisheye curve equisolid center
  /// 1440,1432 radius 1400`, `pinhole matrix FX,FY,CX,CY size WxH distortion K1,K2,P1,P2,K3`, or `ptlens A,B,C
  /// fov 70`.
  ///
  /// - Throws: `ParameterError` with key `lens`.
  public init(parsing text: String) throws(ParameterError) {
    var words = text.split(separator: " ")[...]
    guard let name = words.popFirst(), Lens.models.contains(String(name)) else {
      throw ParameterError("lens", "'\(text)' does not begin with \(Lens.models.joined(separator: ", "))")
    }
    self.init(.fisheye())
    if name == "pinhole" { model = .pinhole() }
    if name == "ptlens" {
      let numbers = try Lens.numbers(words.popFirst() ?? "", "ptlens", "A,B,C", 3...3)
      model = .ptlens(a: numbers[0], b: numbers[1], c: numbers[2])
    }
    var seen: Set<Substring> = []
    while let key = words.popFirst() {
      guard Lens.keys.contains(String(key)) else {
        throw ParameterError("lens", "unknown key '\(key)' (known: \(Lens.keys.joined(separator: ", ")))")
      }
      guard let value = words.popFirst() else { throw ParameterError("lens", "\(key) has no value") }
      guard seen.insert(key).inserted else { throw ParameterError("lens", "\(key) is given twice") }
      try set(key, value)
    }
    try check()
  }

  /// The text that `init(parsing:)` reads.
  public var description: String {
    var words: [String]
    switch model {
    case .fisheye(let distortion):
      words = ["fisheye"] + (distortion.isEmpty ? [] : ["distortion", Lens.text(distortion)])
    case .pinhole(let distortion):
      words = ["pinhole"] + (distortion.isEmpty ? [] : ["distortion", Lens.text(distortion)])
    case .curve(let curve): words = ["fisheye", "curve", curve.rawValue]
    case .ptlens(let a, let b, let c): words = ["ptlens", Lens.text([a, b, c])]
    }
    if let matrix { words += ["matrix", Lens.text([matrix.fx, matrix.fy, matrix.cx, matrix.cy])] }
    if let size { words += ["size", size.description] }
    if let fov { words += ["fov", fov.shortText] }
    if let center { words += ["center", Lens.text([center.x, center.y])] }
    if let radius { words += ["radius", radius.shortText] }
    return words.joined(separator: " ")
  }

  private mutating func set(_ key: Substring, _ value: Substring) throws(ParameterError) {
    switch key {
    case "curve":
      guard model == .fisheye() else {
        throw ParameterError("lens", "curve goes with fisheye, without distortion")
      }
      do throws(ParameterError) {
        model = .curve(try ParameterParser.choice("lens", value))
      } catch {
        throw ParameterError("lens", "curve \(error.reason)")
      }
    case "distortion":
      switch model {
      case .fisheye: model = .fisheye(distortion: try Lens.numbers(value, key, "K1,K2,K3,K4", 1...4))
      case .pinhole:
        model = .pinhole(distortion: try Lens.numbers(value, key, "K1,K2,P1,P2,K3,K4,K5,K6", 1...8))
      case .curve, .ptlens:
        throw ParameterError("lens", "distortion goes with pinhole, or with fisheye without curve")
      }
    case "matrix":
      let numbers = try Lens.numbers(value, key, "FX,FY,CX,CY", 4...4)
      matrix = Matrix(fx: numbers[0], fy: numbers[1], cx: numbers[2], cy: numbers[3])
    case "size":
      do throws(ParameterError) {
        size = try ParameterParser.size("lens", value)
      } catch {
        throw ParameterError("lens", "size \(error.reason)")
      }
    case "center":
      let numbers = try Lens.numbers(value, key, "X,Y", 2...2)
      center = [numbers[0], numbers[1]]
    case "radius": radius = try Lens.numbers(value, key, "a number", 1...1)[0]
    default: fov = try Lens.numbers(value, key, "a number", 1...1)[0]
    }
  }

  private static func numbers(
    _ text: Substring, _ key: Substring, _ form: String, _ count: ClosedRange<Int>
  ) throws(ParameterError) -> [Double] {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Double($0) }
    guard numbers.count == parts.count, count.contains(numbers.count), numbers.allSatisfy(\.isFinite) else {
      throw ParameterError("lens", "\(key) '\(text)' is not \(form)")
    }
    return numbers
  }

  private static func text(_ numbers: [Double]) -> String {
    numbers.map(\.shortText).joined(separator: ",")
  }
}
