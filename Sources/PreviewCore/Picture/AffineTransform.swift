// The affine transform of a layer: rotation, scale, translation.
internal import Glibc

/// The map x' = a x + c y + tx, y' = b x + d y + ty, in pixels; x points right, y down.
public struct AffineTransform: Sendable, Hashable {
  /// The factor of x in x'.
  public var a: Double
  /// The factor of x in y'.
  public var b: Double
  /// The factor of y in x'.
  public var c: Double
  /// The factor of y in y'.
  public var d: Double
  /// The offset to the right, in pixels.
  public var tx: Double
  /// The offset downwards, in pixels.
  public var ty: Double

  /// Creates a transform from its six coefficients.
  public init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
    (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
  }

  /// The transform that maps each point to itself.
  public static let identity = AffineTransform(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

  /// Returns a transform that moves by `x` pixels to the right and `y` pixels down.
  public static func translation(x: Double, y: Double) -> AffineTransform {
    AffineTransform(a: 1, b: 0, c: 0, d: 1, tx: x, ty: y)
  }

  /// Returns a transform that scales about the origin; factors below 1 shrink.
  public static func scale(x: Double, y: Double) -> AffineTransform {
    AffineTransform(a: x, b: 0, c: 0, d: y, tx: 0, ty: 0)
  }

  /// Returns a transform that rotates clockwise about the origin.
  public static func rotation(degrees: Double) -> AffineTransform {
    let angle = degrees * .pi / 180
    return AffineTransform(a: cos(angle), b: sin(angle), c: -sin(angle), d: cos(angle), tx: 0, ty: 0)
  }

  /// Returns the transform that applies `self`, then `next`.
  public func followed(by next: AffineTransform) -> AffineTransform {
    AffineTransform(
      a: next.a * a + next.c * b, b: next.b * a + next.d * b,
      c: next.a * c + next.c * d, d: next.b * c + next.d * d,
      tx: next.a * tx + next.c * ty + next.tx, ty: next.b * tx + next.d * ty + next.ty)
  }

  /// The factor by which areas grow; negative for a mirroring transform, 0 if it is not invertible.
  package var determinant: Double { a * d - b * c }

  package var inverse: AffineTransform? {
    guard determinant.isFinite, abs(determinant) > 1e-9, tx.isFinite, ty.isFinite else { return nil }
    return AffineTransform(
      a: d / determinant, b: -b / determinant, c: -c / determinant, d: a / determinant,
      tx: (c * ty - d * tx) / determinant, ty: (b * tx - a * ty) / determinant)
  }

  /// Returns the image of a point.
  package func callAsFunction(_ point: SIMD2<Double>) -> SIMD2<Double> {
    [a * point.x + c * point.y + tx, b * point.x + d * point.y + ty]
  }
}
