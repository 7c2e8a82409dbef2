// The lens of a camera, as a calibration or a data sheet describes it. `LensMap` computes with it.

/// The lens of a camera. Views with a `Projection` need it.
///
/// ```swift
/// let ceiling = Lens(.fisheye(), fov: 190)
/// let calibrated = try Lens(
///   parsing: "pinhole matrix 498.2,498.3,639.5,359.5 size 1280x720 distortion -0.3,0.1,0,0,-0.01")
/// ```
public struct Lens: Sendable, Hashable {
  /// The relation of an angle to its distance from the picture's centre.
  public var model: Model
  /// The focal lengths and the centre of a calibration.
  public var matrix: Matrix?
  /// The size of the pictures of which `matrix`, `center` and `radius` are in pixels; nil is the source's. Another
  /// size of the same shape is scaled.
  public var size: Size?
  /// The field of view in degrees, without a matrix. For `fisheye` and `curve` it is that of the image circle, by
  /// default 180. For `pinhole` and `ptlens` it is that of the undistorted picture's width, by default 60.
  public var fov: Double?
  /// The centre of the image in pixels, without a matrix; (0, 0) is the top left corner of the first pixel. Nil is
  /// the middle.
  public var center: SIMD2<Double>?
  /// The radius of a fisheye's image circle in pixels, without a matrix; nil is half the shorter side.
  public var radius: Double?

  /// Creates a lens. It is checked when it is used with a source's size.
  public init(
    _ model: Model, matrix: Matrix? = nil, size: Size? = nil, fov: Double? = nil,
    center: SIMD2<Double>? = nil, radius: Double? = nil
  ) {
    self.model = model
    self.matrix = matrix
    self.size = size
    self.fov = fov
    self.center = center
    self.radius = radius
  }
}

extension Lens {
  /// A model of a lens.
  public enum Model: Sendable, Hashable {
    /// OpenCV's `fisheye`: θ (1 + k1 θ² + k2 θ⁴ + k3 θ⁶ + k4 θ⁸), with up to four numbers k1...k4.
    case fisheye(distortion: [Double] = [])
    /// OpenCV's model of other lenses, with up to eight numbers k1 k2 p1 p2 k3 k4 k5 k6.
    case pinhole(distortion: [Double] = [])
    /// An ideal fisheye.
    case curve(Curve)
    /// lensfun's `ptlens`: r (a r³ + b r² + c r + 1 - a - b - c), where 1 is half the shorter side.
    case ptlens(a: Double, b: Double, c: Double)
  }

  /// The curve of an ideal fisheye: the radius of an angle θ, in focal lengths.
  public enum Curve: String, Sendable, Hashable, CaseIterable {
    /// θ, the most common.
    case equidistant
    /// 2 sin(θ/2).
    case equisolid
    /// 2 tan(θ/2).
    case stereographic
    /// sin θ.
    case orthographic
  }

  /// A camera matrix in pixels, as OpenCV prints it: (0, 0) is the *centre* of the first pixel.
  public struct Matrix: Sendable, Hashable {
    /// The horizontal focal length.
    public var fx: Double
    /// The vertical focal length.
    public var fy: Double
    /// The column of the centre.
    public var cx: Double
    /// The row of the centre.
    public var cy: Double

    /// Creates a matrix from its four numbers.
    public init(fx: Double, fy: Double, cx: Double, cy: Double) {
      (self.fx, self.fy, self.cx, self.cy) = (fx, fy, cx, cy)
    }
  }
}

extension Lens {
  /// Whether numbers refer to pixels of a certain size.
  var hasPixels: Bool { matrix != nil || center != nil || radius != nil }

  /// Whether it shows straight lines as straight lines, but for its distortion.
  var isRectilinear: Bool {
    switch model {
    case .pinhole, .ptlens: true
    case .fisheye, .curve: false
    }
  }

  /// The field of view without `fov` and matrix, in degrees.
  var usualFOV: Double { isRectilinear ? 60 : 180 }

  private var fieldsOfView: ClosedRange<Double> {
    switch model {
    case .pinhole, .ptlens: 1...179
    case .curve(.orthographic): 1...180
    case .curve(.stereographic): 1...359
    case .fisheye, .curve: 1...360
    }
  }

  /// Checks each number by itself.
  ///
  /// - Throws: `ParameterError` with key `lens`.
  func check() throws(ParameterError) {
    func check(_ number: Double, _ range: ClosedRange<Double>, _ name: String) throws(ParameterError) {
      guard !range.contains(number) else { return }
      let (lowest, highest) = (range.lowerBound.shortText, range.upperBound.shortText)
      throw ParameterError("lens", "\(name) \(number.shortText) is not from \(lowest) to \(highest)")
    }
    let distortion: [Double]
    let most: Int
    switch model {
    case .fisheye(let numbers): (distortion, most) = (numbers, 4)
    case .pinhole(let numbers): (distortion, most) = (numbers, 8)
    case .ptlens(let a, let b, let c): (distortion, most) = ([a, b, c], 3)
    case .curve: (distortion, most) = ([], 0)
    }
    guard distortion.count <= most else {
      throw ParameterError("lens", "distortion has \(distortion.count) numbers, the model at most \(most)")
    }
    for number in distortion { try check(number, -1e6...1e6, "distortion") }
    if let matrix {
      try check(matrix.fx, 0.1...1e7, "focal length")
      try check(matrix.fy, 0.1...1e7, "focal length")
      try check(matrix.cx, -1e6...1e6, "centre")
      try check(matrix.cy, -1e6...1e6, "centre")
      guard fov == nil, center == nil, radius == nil else {
        throw ParameterError("lens", "fov, center and radius do not go with matrix, which contains them")
      }
    }
    if let size {
      try check(Double(size.width), 1...Double(Size.maximumSide), "width")
      try check(Double(size.height), 1...Double(Size.maximumSide), "height")
    }
    if let fov { try check(fov, fieldsOfView, "fov") }
    if let center {
      try check(center.x, -1e6...1e6, "center")
      try check(center.y, -1e6...1e6, "center")
    }
    if let radius {
      guard !isRectilinear else {
        throw ParameterError("lens", "radius is that of a fisheye's image circle: use fov")
      }
      try check(radius, 0.1...1e6, "radius")
    }
  }
}
