// The warp of a view: a flattened picture, and where each of its positions lies in the source. It takes the place of
// a crop, so that a view is scaled and placed as before.

/// A map from positions of a flattened picture to positions of the upright source.
package enum PointMap: Sendable, Hashable {
  /// A plane: corners, or a rotation.
  case homography(Homography)
  /// A view through a lens.
  case lens(LensView)

  /// Returns the position of the source that is seen at a position of the flattened picture; nil if there is none.
  /// It may lie outside the source.
  package func position(of point: SIMD2<Double>) -> SIMD2<Double>? {
    switch self {
    case .homography(let map): map(point)
    case .lens(let view): view.position(of: point)
    }
  }

  /// Returns the position of the flattened picture that shows a position of the source; nil if none does.
  package func point(at position: SIMD2<Double>) -> SIMD2<Double>? {
    switch self {
    case .homography(let map): map.inverse?(position)
    case .lens(let view): view.point(at: position)
    }
  }
}

/// The warp of a view for one size of the source.
package struct Warp: Sendable, Hashable {
  /// The size of the flattened picture.
  package let size: Size
  /// The map from the flattened picture to the upright source.
  package let map: PointMap

  /// Creates a warp.
  package init(size: Size, map: PointMap) {
    self.size = size
    self.map = map
  }
}
