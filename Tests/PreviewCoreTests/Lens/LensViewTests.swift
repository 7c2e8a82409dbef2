// Views through a lens, against ffmpeg 5.1's `v360`: names, signs, and the order of yaw, pitch and roll.
import TestSupport
import Testing

@testable import PreviewCore

/// A point of a view of 320x180 pixels, of a picture of 400x400 by an ideal fisheye of 180 degrees.
private struct Shown: Sendable {
  let projection: Projection
  let point: SIMD2<Double>
  /// The position that is seen there, computed with numpy.
  let position: SIMD2<Double>
  /// The position of `v360`, which it computed from ramps: its weights are rounded.
  let ffmpeg: SIMD2<Double>

  init(
    _ shape: Projection.Shape, _ hfov: Double, _ turns: SIMD3<Double>, at point: SIMD2<Double>,
    _ position: SIMD2<Double>, ffmpeg: SIMD2<Double>
  ) {
    projection = Projection(shape, yaw: turns.x, pitch: turns.y, roll: turns.z, hfov: hfov)
    self.point = point
    self.position = position
    self.ffmpeg = ffmpeg
  }
}

/// `v360=input=fisheye:output=flat:ih_fov=180:iv_fov=180:h_fov=90:v_fov=58.716:w=320:h=180:rorder=ypr` with other
/// outputs and turns. Its positions are multiplied by 400/399 about the middle, as its circle ends at the centres of
/// the outermost pixels.
private let shown: [Shown] = [
  Shown(.flat, 90, [0, 0, 0], at: [60.5, 40.5], [130.795198, 165.571481], ffmpeg: [130.81, 165.59]),
  Shown(.flat, 90, [0, 0, 0], at: [250.5, 150.5], [263.238215, 242.275271], ffmpeg: [263.25, 242.29]),
  Shown(.flat, 90, [20, 0, 0], at: [60.5, 40.5], [174.194429, 167.057731], ffmpeg: [174.21, 167.07]),
  Shown(.flat, 90, [20, 0, 0], at: [250.5, 150.5], [305.851600, 245.819792], ffmpeg: [305.88, 245.85]),
  Shown(.flat, 90, [0, 15, 0], at: [60.5, 40.5], [128.333748, 135.734909], ffmpeg: [128.35, 135.75]),
  Shown(.flat, 90, [0, 15, 0], at: [250.5, 150.5], [262.055563, 211.675679], ffmpeg: [262.07, 211.69]),
  Shown(.flat, 90, [0, 0, 12], at: [60.5, 40.5], [139.465581, 151.935339], ffmpeg: [139.48, 151.95]),
  Shown(.flat, 90, [0, 0, 12], at: [250.5, 150.5], [253.066785, 254.499419], ffmpeg: [253.10, 254.53]),
  Shown(.flat, 90, [-25, 12, 30], at: [60.5, 40.5], [110.372377, 102.335938], ffmpeg: [110.38, 102.34]),
  Shown(.flat, 90, [-25, 12, 30], at: [250.5, 150.5], [179.066399, 241.891076], ffmpeg: [179.07, 241.90]),
  Shown(.cylinder, 120, [0, 0, 0], at: [60.5, 40.5], [119.974082, 157.228366], ffmpeg: [119.98, 157.24]),
  Shown(
    .cylinder, 120, [0, 0, 0], at: [250.5, 150.5], [271.638272, 250.810169], ffmpeg: [271.67, 250.84]),
  Shown(.cylinder, 120, [20, 0, 0], at: [60.5, 40.5], [162.810135, 159.511650], ffmpeg: [162.82, 159.52]),
  Shown(
    .cylinder, 120, [20, 0, 0], at: [250.5, 150.5], [313.386767, 255.540953], ffmpeg: [313.38, 255.54]),
  Shown(.cylinder, 120, [0, 15, 0], at: [60.5, 40.5], [116.635549, 128.652084], ffmpeg: [116.64, 128.65]),
  Shown(
    .cylinder, 120, [0, 15, 0], at: [250.5, 150.5], [269.848332, 220.987559], ffmpeg: [269.86, 221.00]),
  Shown(.cylinder, 120, [0, 0, 12], at: [60.5, 40.5], [130.615563, 141.524705], ffmpeg: [130.61, 141.52]),
  Shown(
    .cylinder, 120, [0, 0, 12], at: [250.5, 150.5], [259.508776, 264.594279], ffmpeg: [259.51, 264.59]),
  Shown(
    .cylinder, 120, [-25, 12, 30], at: [60.5, 40.5], [107.948470, 88.245553], ffmpeg: [107.95, 88.25]),
  Shown(
    .cylinder, 120, [-25, 12, 30], at: [250.5, 150.5], [183.019806, 253.310811], ffmpeg: [183.04, 253.34]),
  Shown(
    .equirectangular, 150, [0, 0, 0], at: [60.5, 40.5], [102.614409, 142.582855], ffmpeg: [102.61, 142.58]),
  Shown(
    .equirectangular, 150, [0, 0, 0], at: [250.5, 150.5], [285.868131, 268.709090], ffmpeg: [285.88, 268.72]),
  Shown(
    .equirectangular, 150, [20, 0, 0], at: [60.5, 40.5], [144.163873, 146.620484], ffmpeg: [144.17, 146.63]),
  Shown(
    .equirectangular, 150, [20, 0, 0], at: [250.5, 150.5], [325.188496, 276.236452], ffmpeg: [325.19, 276.23]),
  Shown(
    .equirectangular, 150, [0, 15, 0], at: [60.5, 40.5], [97.453716, 116.537414], ffmpeg: [97.46, 116.54]),
  Shown(
    .equirectangular, 150, [0, 15, 0], at: [250.5, 150.5], [282.574246, 240.434870], ffmpeg: [282.59, 240.44]),
  Shown(
    .equirectangular, 150, [0, 0, 12], at: [60.5, 40.5], [116.680214, 123.589955], ffmpeg: [116.69, 123.60]),
  Shown(
    .equirectangular, 150, [0, 0, 12], at: [250.5, 150.5], [269.706283, 285.060620], ffmpeg: [269.72, 285.08]),
  Shown(
    .equirectangular, 150, [-25, 12, 30], at: [60.5, 40.5], [106.112541, 64.219030], ffmpeg: [106.12, 64.22]),
  Shown(
    .equirectangular, 150, [-25, 12, 30], at: [250.5, 150.5], [189.168673, 275.422864],
    ffmpeg: [189.19, 275.45]),
]

private func picture(_ projection: Projection) throws -> LensView {
  let map = try LensMap(Lens(.fisheye()), in: Size(width: 400, height: 400))
  return LensView(projection, of: map, size: Size(width: 320, height: 180))
}

@Test("a view shows at each point what ffmpeg's v360 shows there", arguments: shown.indices)
func viewsOfV360(index: Int) throws {
  let expected = shown[index]
  let view = try picture(expected.projection)
  #expect(distance(view.position(of: expected.point), expected.position) < 1e-5)
  #expect(distance(view.position(of: expected.point), expected.ffmpeg) < 0.1)
  #expect(distance(view.point(at: expected.position), expected.point) < 1e-5)
}

@Test("positive yaw looks right, positive pitch up, and positive roll turns the picture to the left")
func signs() throws {
  let middle: SIMD2<Double> = [160, 90]
  let right = try #require(try picture(Projection(yaw: 30)).position(of: middle))
  #expect(right.x > 260 && abs(right.y - 200) < 1e-9)
  let up = try #require(try picture(Projection(pitch: 30)).position(of: middle))
  #expect(up.y < 140 && abs(up.x - 200) < 1e-9)
  let beside = try #require(try picture(Projection(roll: 90)).position(of: [200, 90]))
  #expect(beside.y > 210 && abs(beside.x - 200) < 1e-9)
}

@Test("a view's points and the source's positions lead to each other", arguments: Projection.Shape.allCases)
func viewRoundTrips(shape: Projection.Shape) throws {
  var random = SeededGenerator(seed: 360)
  for _ in 0..<50 {
    let projection = Projection(
      shape, yaw: Double.random(in: -60...60, using: &random),
      pitch: Double.random(in: -60...60, using: &random),
      roll: Double.random(in: -180...180, using: &random),
      hfov: Double.random(in: 20...120, using: &random))
    let view = try picture(projection)
    for _ in 0..<20 {
      let point = random.point(in: view.size)
      let position = try #require(view.position(of: point))
      #expect(distance(view.point(at: position), point) < 1e-6, "\(projection)")
    }
  }
}

@Test("equirectangular pictures end at the poles, and flat ones show nothing that is behind")
func viewEnds() throws {
  let around = try picture(Projection(.equirectangular, hfov: 360))
  // A cell of a grid may reach beyond the pole, by up to 16 outputs.
  #expect(around.position(of: [160, 186.1]) == nil)
  #expect(around.position(of: [160, 185.9]) != nil)
  let flat = try picture(Projection(yaw: 180))
  #expect(flat.point(at: [200, 200]) == nil)
}
