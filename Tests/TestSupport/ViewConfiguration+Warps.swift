// Random warps of views: projections through lenses, free rotations and corners.
package import PreviewCore

extension ViewConfiguration {
  /// Returns the view with a random warp and filter, for upright sources of `size`: at least 20 pixels along each
  /// side. A view with a crop keeps it, and gets no corners.
  package func warped(in size: Size, by random: inout SeededGenerator) -> ViewConfiguration {
    var view = self
    view.filter = random.oneOf([.auto, .area, .bilinear, .bicubic, .nearest])
    (view.lens, view.projection, view.corners, view.angle) = (nil, nil, nil, 0)
    switch random.pick(crop == nil ? 0...2 : 0...1) {
    case 0:
      view.lens = random.oneOf([
        Lens(.fisheye(), fov: 190), Lens(.curve(.equisolid), fov: 170),
        Lens(.curve(.stereographic), fov: 150),
        Lens(.pinhole(distortion: [-0.1, 0.01]), fov: 80),
        Lens(.ptlens(a: 0.01, b: -0.02, c: 0.005), fov: 70),
      ])
      view.projection = Projection(
        random.oneOf(Projection.Shape.allCases), yaw: Double(random.pick(-70...70)),
        pitch: Double(random.pick(-60...60)), roll: Double(random.pick(-180...180)),
        hfov: Double(random.pick(20...160)))
    case 1: view.angle = Double(random.pick(1...449)) / (random.happens(0.5) ? 10 : -10)
    default: view.corners = ViewConfiguration.corners(of: size, by: &random)
    }
    return view
  }

  /// Returns a quadrilateral whose corners lie near those of the picture, inside or outside.
  private static func corners(of size: Size, by random: inout SeededGenerator) -> Corners {
    func near(_ isRight: Bool, _ isLow: Bool, _ random: inout SeededGenerator) -> SIMD2<Int> {
      let (x, y) = (random.pick(-10...20), random.pick(-10...20))
      return [size.width * (isRight ? 100 - x : x) / 100, size.height * (isLow ? 100 - y : y) / 100]
    }
    return Corners(
      topLeft: near(false, false, &random), topRight: near(true, false, &random),
      bottomRight: near(true, true, &random), bottomLeft: near(false, true, &random))
  }
}
