// Where a layer's points go: turned, scaled, moved.
internal import Glibc

/// x' = a x + c y + tx, y' = b x + d y + ty; x to the right, y down, in pixels.
public struct AffineTransform: Sendable, Hashable {
  /// Of x to x'.
  public var a: Double
  /// Of x to y'.
  public var b: Double
  /// Of y to x'.
  public var c: Double
  /// Of y to y'.
  public var d: Double
  /// To the right.
  public var tx: Double
  /// Down.
  public var ty: Double

  /// The six numbers.
  public init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
    (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
  }

  /// Everything stays.
  public static let identity = AffineTransform(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

  /// Moved, in pixels.
  public static func translation(x: Double, y: Double) -> AffineTransform {
    AffineTransform(a: 1, b: 0, c: 0, d: 1, tx: x, ty: y)
  }

  /// Larger, or below 1 smaller.
  public static func scale(x: Double, y: Double) -> AffineTransform {
    AffineTransform(a: x, b: 0, c: 0, d: y, tx: 0, ty: 0)
  }

  /// Turned clockwise.
  public static func rotation(degrees: Double) -> AffineTransform {
    let angle = degrees * .pi / 180
    return AffineTransform(a: cos(angle), b: sin(angle), c: -sin(angle), d: cos(angle), tx: 0, ty: 0)
  }

  /// What `self` does, and then `next`.
  public func followed(by next: AffineTransform) -> AffineTransform {
    AffineTransform(
      a: next.a * a + next.c * b, b: next.b * a + next.d * b,
      c: next.a * c + next.c * d, d: next.b * c + next.d * d,
      tx: next.a * tx + next.c * ty + next.tx, ty: next.b * tx + next.d * ty + next.ty)
  }

  /// How areas grow; negative where it mirrors, 0 where nothing is left.
  public var determinant: Double { a * d - b * c }

  /// What takes everything back; nil where that can't be.
  public var inverse: AffineTransform? {
    guard determinant.isFinite, abs(determinant) > 1e-9, tx.isFinite, ty.isFinite else { return nil }
    return AffineTransform(
      a: d / determinant, b: -b / determinant, c: -c / determinant, d: a / determinant,
      tx: (c * ty - d * tx) / determinant, ty: (b * tx - a * ty) / determinant)
  }

  /// Where a point goes.
  public func callAsFunction(_ point: SIMD2<Double>) -> SIMD2<Double> {
    [a * point.x + c * point.y + tx, b * point.x + d * point.y + ty]
  }
}
