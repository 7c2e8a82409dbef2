// Maps between quadrilaterals, against numpy.linalg.
import TestSupport
import Testing

@testable import PreviewCore

private let rectangle: [SIMD2<Double>] = [[0, 0], [200, 0], [200, 100], [0, 100]]
private let plate: [SIMD2<Double>] = [[410, 220], [630, 244], [622, 310], [404, 281]]

@Test("a homography between four points and four others is that of numpy")
func homographyNumbers() throws {
  let map = try #require(Homography(from: rectangle, to: plate))
  let numbers = [
    0.8526538987688099, -0.03457729138166894, 410, 0.024202462380300886, 0.6276826265389878, 220,
    -0.00039261285909712723, 6.292749658002736e-05, 1,
  ]
  for (number, expected) in zip(map.elements, numbers) {
    #expect(abs(number - expected) < 1e-9 * max(1, abs(expected)))
  }
  let points: [(SIMD2<Double>, SIMD2<Double>)] = [
    ([50, 25], [460.076065756, 241.258707161]), ([100, 50], [512.028384899, 263.313936986]),
    ([199.5, 0.5], [629.363016713, 244.267074721]), ([17, 93], [421.626072872, 279.015321762]),
  ]
  for (point, expected) in points { #expect(distance(map(point), expected) < 1e-6) }
}

@Test("a homography's inverse leads back, for random quadrilaterals")
func homographyInverses() throws {
  var random = SeededGenerator(seed: 41)
  let source = Size(width: 4000, height: 3000)
  for _ in 0..<200 {
    // Each point in its own quarter of the picture: convex or not, three are never on a line by chance.
    let quarters: [SIMD2<Double>] = [[0, 0], [4000, 0], [4000, 3000], [0, 3000]]
    let points = quarters.map { ($0 + random.point(in: source) / 4) * 0.8 }
    let map = try #require(Homography(from: rectangle, to: points))
    let back = try #require(map.inverse)
    for (corner, point) in zip(rectangle, points) { #expect(distance(map(corner), point) < 1e-6) }
    for _ in 0..<10 {
      let point = random.point(in: Size(width: 200, height: 100))
      let seen = try #require(map(point))
      #expect(distance(back(seen), point) < 1e-6)
    }
  }
}

@Test("points on the horizon and behind it have no image")
func horizon() throws {
  let map = try #require(Homography(from: rectangle, to: plate))
  // The third coordinate is 0 at x = 1 / 0.0003926.
  #expect(map([2500, 0]) != nil)
  #expect(map([2548, 0]) == nil)
  #expect(map([9000, 0]) == nil)
}

@Test("there is no homography to or from points on a line")
func degenerateQuadrilaterals() {
  #expect(Homography(from: rectangle, to: [[0, 0], [1, 1], [2, 2], [3, 3]]) == nil)
  #expect(Homography(from: [[0, 0], [1, 0], [2, 0], [0, 1]], to: plate) == nil)
  #expect(Homography(from: rectangle, to: [[5, 5], [5, 5], [5, 5], [5, 5]]) == nil)
  #expect(Homography(from: rectangle, to: Array(plate.prefix(3))) == nil)
}

@Test("a transform's homography maps points as the transform does")
func affineHomography() {
  let transform = AffineTransform.rotation(degrees: 30).followed(by: .translation(x: 5, y: -7))
  let map = Homography(transform)
  for point in rectangle + plate { #expect(distance(map(point), transform(point)) < 1e-9) }
}
