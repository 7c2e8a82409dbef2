// The direction, the width and the shape of a view through a lens, with the names and signs of ffmpeg's `v360`.
internal import Glibc

/// How a view shows what a camera with a `Lens` sees: as another camera that looks in any direction.
public struct Projection: Sendable, Hashable {
  /// The surface on which the picture is drawn.
  public enum Shape: String, Sendable, Hashable, CaseIterable {
    /// A plane: straight lines stay straight. For fields of view below 180 degrees.
    case flat
    /// An upright cylinder: vertical lines stay straight.
    case cylinder
    /// Columns are longitudes, rows are latitudes.
    case equirectangular
  }

  /// The surface.
  public var shape: Shape
  /// Degrees to the right.
  public var yaw: Double
  /// Degrees upwards.
  public var pitch: Double
  /// Degrees by which the camera is rolled clockwise.
  public var roll: Double
  /// The horizontal field of view in degrees. Nil is 90 for flat pictures and 180 for others; for flat ones of
  /// `pinhole` and `ptlens`, that of the undistorted picture.
  public var hfov: Double?

  /// Creates a projection. The default looks straight ahead.
  public init(
    _ shape: Shape = .flat, yaw: Double = 0, pitch: Double = 0, roll: Double = 0, hfov: Double? = nil
  ) {
    self.shape = shape
    self.yaw = yaw
    self.pitch = pitch
    self.roll = roll
    self.hfov = hfov
  }
}

extension Projection {
  /// The degrees that yaw, pitch and roll accept.
  static let turns = -360.0...360.0
  /// The degrees that `hfov` accepts; flat pictures have fewer than 180.
  static let fields = 1.0...360.0

  /// Checks each number.
  ///
  /// - Throws: `ParameterError` with the key of the number.
  func check() throws(ParameterError) {
    for (key, number) in [("yaw", yaw), ("pitch", pitch), ("roll", roll)] {
      try ParameterError.check(number, in: Projection.turns, key)
    }
    guard let hfov else { return }
    try ParameterError.check(hfov, in: Projection.fields, "hfov")
    guard shape != .flat || hfov < 180 else {
      throw ParameterError("hfov", "\(hfov.shortText) is not below 180, as projection=flat requires")
    }
  }

  /// Returns the horizontal field of view in degrees, in a view of `width` columns of the source.
  func field(of lens: LensMap, width: Int) -> Double {
    if let hfov { return hfov }
    guard shape == .flat else { return 180 }
    return lens.isRectilinear ? 2 * atan(Double(width) / (2 * lens.focal.x)) * 180 / .pi : 90
  }

  /// Returns the size of the picture without a requested one, at the scale that the source has at its centre. It
  /// is not wider than the source's longer side.
  func usualSize(of lens: LensMap, crop: Size) -> Size {
    if shape == .flat, lens.isRectilinear { return crop }
    let angle = field(of: lens, width: crop.width) * .pi / 180
    let length = lens.focalLength * (shape == .flat ? 2 * tan(angle / 2) : angle)
    let longest = Double(max(lens.size.width, lens.size.height))
    let width = length < longest ? max(length.rounded(), 1) : longest
    let height = shape == .equirectangular ? width / 2 : width * 9 / 16
    return Size(width: Int(width), height: Int(max(height.rounded(), 1)))
  }

  /// Returns a size of the shape of `usualSize`, without its rounding: pictures with one requested side have the
  /// same size in each field of view.
  func usualShape(of lens: LensMap, crop: Size) -> Size {
    if shape == .flat, lens.isRectilinear { return crop }
    return shape == .equirectangular ? Size(width: 2, height: 1) : Size(width: 16, height: 9)
  }
}
