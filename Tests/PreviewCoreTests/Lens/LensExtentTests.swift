// The extent of lenses: fields of view that can be worked out by hand, and the curves to draw.
import Testing

@testable import PreviewCore

private func extent(_ lens: String, _ width: Int, _ height: Int) throws -> LensExtent {
  try LensExtent(Lens(parsing: lens), in: Size(width: width, height: height))
}

private func radius(_ point: SIMD2<Double>, around center: Double) -> Double {
  let offset = point - SIMD2(center, center)
  return (offset * offset).sum().squareRoot()
}

@Test("an equidistant fisheye shows its field of view up to its image circle, and nothing beyond")
func circularFisheye() throws {
  let shown = try extent("fisheye fov 190", 1000, 1000)
  for angle in [shown.horizontal, shown.vertical, shown.diagonal, 2 * shown.largestAngle] {
    #expect(abs(angle - 190) < 1e-6)
  }
  #expect(abs(shown.centerResolution - 1000 / 190) < 1e-6)
  #expect(abs(try #require(shown.edgeResolution) - 1000 / 190) < 1e-6)
  #expect(abs(shown.outside - (1 - .pi / 4)) < 0.002)
  #expect(shown.angles == Array(stride(from: 10, through: 90, by: 10)))
  #expect(shown.rim.allSatisfy { abs(radius($0, around: 500) - 500) < 1e-6 })
}

@Test("a centre off the middle shows more on one side, and a wide image circle fills the picture")
func movedFisheye() throws {
  let shown = try extent("fisheye fov 180 radius 900 center 600,500", 1000, 1000)
  #expect(abs(shown.horizontal - 100) < 1e-6 && abs(shown.vertical - 100) < 1e-6)
  #expect(shown.outside == 0)
}

@Test("a pinhole shows its field of view over the picture's width, and straight lines as straight lines")
func pinhole() throws {
  let shown = try extent("pinhole fov 90", 800, 600)
  #expect(abs(shown.horizontal - 90) < 1e-6 && shown.outside == 0 && shown.rim.isEmpty)
  #expect(abs(shown.largestAngle - 51.340191746) < 1e-6)
  #expect(!shown.room.isEmpty)
  for curve in shown.room {
    let (start, way) = (curve[0], curve[curve.count - 1] - curve[0])
    for point in curve {
      let offset = point - start
      #expect(abs(offset.x * way.y - offset.y * way.x) < 1e-6 * (1 + (way * way).sum()))
    }
  }
}

@Test("circles of an angle lie where the lens shows that angle")
func circles() throws {
  let shown = try extent("fisheye curve stereographic fov 180", 1000, 1000)
  // 250 · 2 · tan(30°)
  for point in shown.circle(of: 60) {
    #expect(abs(radius(point, around: 500) - 288.675134595) < 1e-6)
  }
}
