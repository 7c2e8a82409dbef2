// A view through a lens: from positions of its picture to positions of the source's, and back.
internal import Glibc

/// A picture of some size that shows a projection of what a lens sees.
package struct LensView: Sendable, Hashable {
  /// Its `hfov` is not nil.
  package let projection: Projection
  package let lens: LensMap
  package let size: Size
  /// The pixels of a radian at the picture's centre.
  package let focalLength: Double
  /// The rows of the matrix that turns directions of the view into those of the lens: first rolled, then pitched,
  /// then yawed.
  private let right: SIMD3<Double>
  private let down: SIMD3<Double>
  private let forward: SIMD3<Double>

  /// Creates a view of `size` pixels. Without `hfov`, that of a picture of the lens's size is used.
  package init(_ projection: Projection, of lens: LensMap, size: Size) {
    let field = projection.field(of: lens, width: lens.size.width)
    var projection = projection
    projection.hfov = field
    self.projection = projection
    self.lens = lens
    self.size = size
    let half = field * .pi / 360
    focalLength = Double(size.width) / 2 / (projection.shape == .flat ? tan(half) : half)
    let (yaw, pitch, roll) =
      (projection.yaw * .pi / 180, projection.pitch * .pi / 180, projection.roll * .pi / 180)
    let (sy, cy, sp, cp) = (sin(yaw), cos(yaw), sin(pitch), cos(pitch))
    let (sr, cr) = (sin(roll), cos(roll))
    right = [cy * cr + sy * sp * sr, sy * sp * cr - cy * sr, sy * cp]
    down = [cp * sr, cp * cr, -sp]
    forward = [cy * sp * sr - sy * cr, sy * sr + cy * sp * cr, cy * cp]
  }

  private var center: SIMD2<Double> { SIMD2(Double(size.width), Double(size.height)) / 2 }

  /// Returns the position of the source that is seen at a position of the picture; nil if there is none. It may
  /// lie outside the source.
  package func position(of point: SIMD2<Double>) -> SIMD2<Double>? {
    let angles = (point - center) / focalLength
    let ray: SIMD3<Double>
    switch projection.shape {
    case .flat: ray = [angles.x, angles.y, 1]
    case .cylinder: ray = [sin(angles.x), angles.y, cos(angles.x)]
    case .equirectangular:
      // A grid's cell that begins before a pole may reach beyond it.
      guard abs(angles.y) <= .pi / 2 + 16 / focalLength else { return nil }
      let across = cos(angles.y)
      ray = [across * sin(angles.x), sin(angles.y), across * cos(angles.x)]
    }
    return lens.position(of: [(right * ray).sum(), (down * ray).sum(), (forward * ray).sum()])
  }

  /// Returns the position of the picture that shows a position of the source; nil if none does. The inverse of
  /// `position(of:)`.
  package func point(at position: SIMD2<Double>) -> SIMD2<Double>? {
    guard let seen = lens.ray(at: position) else { return nil }
    let ray: SIMD3<Double> = right * seen.x + down * seen.y + forward * seen.z
    let across = (ray.x * ray.x + ray.z * ray.z).squareRoot()
    let angles: SIMD2<Double>
    switch projection.shape {
    case .flat:
      guard ray.z > 1e-9 else { return nil }
      angles = [ray.x / ray.z, ray.y / ray.z]
    case .cylinder:
      guard across > 1e-9 else { return nil }
      angles = [atan2(ray.x, ray.z), ray.y / across]
    case .equirectangular: angles = [atan2(ray.x, ray.z), atan2(ray.y, across)]
    }
    return center + angles * focalLength
  }
}
