// Where the picture of a view shows its source, so that masks of the source can be burned into the picture.
internal import Glibc

/// The geometry of a view's picture, which is kept with the picture where the view may change later.
package struct ViewGeometry: Sendable, Hashable {
  /// The upright source's reference size, in whose pixels masks are given.
  package let reference: Size
  /// The picture's size.
  package let size: Size
  /// The map from the picture to the source, both in pixels.
  package let map: AffineTransform
  /// How far the view's filter reaches, in samples of the coarser of its input and its output.
  package let reach: Int

  /// The reach of `Filter.lanczos`.
  package static let longestReach = 3

  /// The most pixels of a picture for one of the source, along an axis. A mask that is drawn into a picture
  /// of more would hide all of it.
  private static let largestScale = 256.0
  /// The farthest that a picture's corner lies from the source's, in pixels of the source.
  private static let farthest = 1e7

  /// Creates a geometry from its parts.
  ///
  /// - Returns: nil if the map is not one of a view, in which each axis of the picture lies along one of the
  ///   source, or if a number is not one of a view.
  package init?(reference: Size, size: Size, map: AffineTransform, reach: Int = longestReach) {
    let isUpright = map.b == 0 && map.c == 0
    let isTurned = map.a == 0 && map.d == 0
    let sides = [reference.width, reference.height, size.width, size.height]
    let scales = [hypot(map.a, map.b), hypot(map.c, map.d)]
    guard isUpright || isTurned, map.inverse != nil, (1...Self.longestReach).contains(reach),
      sides.allSatisfy({ (1...Size.maximumSide).contains($0) }),
      scales.allSatisfy({ (1 / Self.largestScale...Double(Size.maximumSide)).contains($0) }),
      [map.tx, map.ty].allSatisfy({ abs($0) <= Self.farthest })
    else { return nil }
    (self.reference, self.size, self.map, self.reach) = (reference, size, map, reach)
  }

  /// Creates the geometry of a view of a source with this reference size, whose frames have that size.
  ///
  /// - Returns: nil if the source can be seen elsewhere in the picture too, as in blurred bars, if the view is
  ///   warped, or if its crop is not inside the source.
  package init?(of view: ViewConfiguration, in reference: Size) {
    guard let (map, warp, placement) = try? view.map(in: reference), warp == nil,
      !placement.hasBars || view.surround != .blur
    else { return nil }
    self.init(reference: reference, size: placement.target, map: map, reach: view.filter.reach)
  }

  /// The pixels of the picture for one of the source, along each axis of the picture.
  var scale: SIMD2<Double> { [1 / hypot(map.a, map.b), 1 / hypot(map.c, map.d)] }

  /// How far from a hidden part of the source a pixel of the picture may show something of it, in pixels of the
  /// picture: as far as the filter reaches between samples of chroma, which span up to 4 pixels of the source
  /// (4:1:1) and 2 of the picture, then what those span themselves, and one for rounding.
  var spread: SIMD2<Int> {
    func along(_ scale: Double) -> Int {
      Int((Double(reach) * max(4 * scale, 2) + 3.5 * scale).rounded(.up)) + 1
    }
    return [along(scale.x), along(scale.y)]
  }

  /// Returns the corners of a mask in pixels of the picture, outside of which they may lie.
  func corners(of shape: PrivacyMask.Shape) -> [SIMD2<Double>] {
    guard let inverse = map.inverse else { return [] }
    let corners: [SIMD2<Int>] =
      switch shape {
      case .polygon(let points): points
      case .rectangle(let rectangle):
        [
          [rectangle.x, rectangle.y], [rectangle.x + rectangle.width, rectangle.y],
          [rectangle.x + rectangle.width, rectangle.y + rectangle.height],
          [rectangle.x, rectangle.y + rectangle.height],
        ]
      }
    return corners.map { inverse(SIMD2(Double($0.x), Double($0.y))) }
  }
}

extension Filter {
  /// How far it reaches, in samples of the coarser of its input and its output, rounded up.
  fileprivate var reach: Int {
    switch self {
    case .nearest, .auto, .area, .bilinear: 1
    case .bicubic, .mitchell: 2
    case .lanczos: ViewGeometry.longestReach
    }
  }
}
