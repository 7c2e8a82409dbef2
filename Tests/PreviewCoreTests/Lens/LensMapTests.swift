// Lenses: where directions are seen, by numbers that numpy computed from the formulas of OpenCV and lensfun.
import TestSupport
import Testing

@testable import PreviewCore

private let size = Size(width: 1280, height: 720)

private let rays: [SIMD3<Double>] = [
  [0.3, -0.2, 1], [-0.9, 0.4, 0.7], [0.05, 0.02, 1], [-0.35, -0.3, 0.9],
]
/// Directions that other lenses than fisheyes show inside their pictures, too.
private let narrow: [SIMD3<Double>] = [rays[0], [-0.45, 0.2, 0.7], rays[2], rays[3]]

/// Lenses of each model, and the positions of `rays` or `narrow` in their pictures.
private let cases: [(lens: String, rays: [SIMD3<Double>], positions: [SIMD2<Double>])] = [
  (
    "fisheye matrix 498.2,498.9,639.5,359.5 distortion -0.01,0.002,-0.0003,0.00002", rays,
    [
      [783.278220429, 264.346976887], [209.498498697, 551.602835987], [664.885242261, 369.968082990],
      [461.330845831, 206.639833088],
    ]
  ),
  (
    "fisheye matrix 400,410,630,350 size 1280x720 distortion -0.013,0.0021", rays,
    [
      [745.495557710, 271.919702231], [285.701068061, 507.575068995], [650.479948769, 358.691778995],
      [487.143686360, 224.551238730],
    ]
  ),
  (
    "pinhole matrix 900,905,640,358 distortion -0.28,0.12,0.0005,-0.0008,-0.02", narrow,
    [
      [900.930496200, 183.911190140], [125.383183818, 588.777394727], [685.458717392, 376.585547308],
      [313.155607879, 76.641825301],
    ]
  ),
  (
    "pinhole matrix 800,800,639.5,359.5 distortion 0.4,0.05,0.001,0.0004,0.001,0.6,0.12,0.004", narrow,
    [
      [873.961274473, 204.157550352], [170.995068324, 568.912940155], [679.980944811, 375.994326724],
      [344.580162093, 106.920914951],
    ]
  ),
  (
    "fisheye curve equidistant fov 190 center 650,355 radius 350", rays,
    [
      [710.778734310, 314.480843794], [466.189756726, 436.693441455], [660.544300746, 359.217720298],
      [574.134403638, 289.972345976],
    ]
  ),
  (
    "fisheye curve equisolid fov 185 center 650,355 radius 350", rays,
    [
      [719.406072605, 308.729284930], [446.938578368, 445.249520725], [662.099859098, 359.839943639],
      [563.742364079, 281.064883496],
    ]
  ),
  (
    "fisheye curve stereographic fov 200 center 650,355 radius 350", rays,
    [
      [692.707144231, 326.528570513], [511.491512316, 416.559327860], [657.336806439, 357.934722576],
      [596.216836873, 308.900145891],
    ]
  ),
  (
    "fisheye curve orthographic fov 170 center 650,355 radius 350", rays,
    [
      [749.152998274, 288.898001151], [388.308329276, 471.307409211], [667.541430497, 362.016572199],
      [528.392543688, 250.765037447],
    ]
  ),
  (
    "ptlens 0.01,-0.02,0.005 fov 70", narrow,
    [
      [914.338327817, 177.107781455], [48.243113448, 623.003060690], [685.944563789, 378.377825516],
      [284.666558572, 55.428478776],
    ]
  ),
]

@Test("each model shows directions where OpenCV's and lensfun's formulas say", arguments: cases.indices)
func lensModels(index: Int) throws {
  let (lens, rays, positions) = cases[index]
  let map = try LensMap(Lens(parsing: lens), in: size)
  for (ray, position) in zip(rays, positions) {
    #expect(distance(map.position(of: ray), position) < 1e-6, "\(lens): \(ray)")
    // Only a direction counts, not its length.
    #expect(distance(map.position(of: ray * 7), position) < 1e-6, "\(lens): \(ray)")
  }
}

@Test("a position's direction is seen at this position, in all of the picture", arguments: cases.indices)
func lensRoundTrips(index: Int) throws {
  let map = try LensMap(Lens(parsing: cases[index].lens), in: size)
  var random = SeededGenerator(seed: UInt64(index))
  for _ in 0..<500 {
    let position = random.point(in: size)
    guard let ray = map.ray(at: position) else {
      // These see less than the whole sphere within the picture's corners.
      #expect(cases[index].lens.contains("equi"), "\(cases[index].lens): \(position)")
      continue
    }
    #expect(abs((ray * ray).sum() - 1) < 1e-12)
    #expect(distance(map.position(of: ray), position) < 1e-6, "\(cases[index].lens): \(position)")
  }
  let ahead = try #require(map.position(of: [0, 0, 1]))
  let ray = try #require(map.ray(at: ahead))
  #expect(abs(ray.x) < 1e-9 && abs(ray.y) < 1e-9 && ray.z > 0)
}

@Test("a direction beyond the picture's corners is seen outside the picture, or not at all")
func beyondCorners() throws {
  for (lens, _, _) in cases where !lens.contains("curve") {
    let map = try LensMap(Lens(parsing: lens), in: size)
    let corners: [SIMD2<Double>] = [[0, 0], [1280, 0], [0, 720], [1280, 720]]
    let farthest = try corners.map { try #require(map.ray(at: $0)).z }.min() ?? 1
    var inside = 0
    for step in 0..<360 {
      for part in 1...50 {
        // From the farthest corner's angle to the direction behind.
        let z = farthest - (farthest + 1) * Double(part) / 50.001
        let across = (1 - z * z).squareRoot()
        let turned = AffineTransform.rotation(degrees: Double(step))([across, 0])
        guard let seen = map.position(of: [turned.x, turned.y, z]) else { continue }
        if (0...1280).contains(seen.x), (0...720).contains(seen.y) { inside += 1 }
      }
    }
    #expect(inside == 0, "\(lens)")
  }
}

@Test("an orthographic lens shows what is beyond 90 degrees outside its image circle")
func orthographicRest() throws {
  let map = try LensMap(Lens(.curve(.orthographic)), in: Size(width: 400, height: 400))
  #expect(distance(map.position(of: [1, 0, 0]), [400, 200]) < 1e-9)
  let behind = try #require(map.position(of: [1, 0, -1]))
  #expect(behind.x > 500)
  #expect(map.position(of: [0, 0, -1]) == nil)
}

@Test("a pinhole and ptlens show nothing that is beside or behind them")
func besidePinhole() throws {
  for lens in [Lens(.pinhole()), Lens(.ptlens(a: 0, b: 0, c: 0))] {
    let map = try LensMap(lens, in: size)
    #expect(map.position(of: [1, 0, 0]) == nil)
    #expect(map.position(of: [1, 0, -1]) == nil)
    #expect(map.position(of: [0, 0, -1]) == nil)
  }
}

@Test("without a matrix, the image circle or the picture's width has the field of view")
func fieldsOfView() throws {
  let square = Size(width: 600, height: 600)
  func position(_ text: String, _ ray: SIMD3<Double>) throws -> SIMD2<Double>? {
    try LensMap(Lens(parsing: text), in: square).position(of: ray)
  }

  for lens in ["fisheye", "fisheye curve equidistant", "fisheye curve equisolid"] {
    #expect(distance(try position(lens, [1, 0, 0]), [600, 300]) < 1e-9, "\(lens)")
  }
  #expect(distance(try position("fisheye distortion 0.05,-0.004", [0, 1, 0]), [300, 600]) < 1e-9)
  #expect(distance(try position("fisheye radius 250 center 310,290", [0, -1, 0]), [310, 40]) < 1e-9)
  #expect(distance(try position("pinhole fov 90", [1, 0, 1]), [600, 300]) < 1e-9)
  // The middle of the right edge has a radius of 1, which ptlens keeps.
  #expect(distance(try position("ptlens 0.01,-0.02,0.005 fov 90", [1, 0, 1]), [600, 300]) < 1e-9)
}

@Test("a lens with a size is scaled to pictures of the same shape, and refused for another shape")
func lensSizes() throws {
  let lens = try Lens(parsing: "fisheye matrix 498.2,498.9,630.5,350.5 size 1280x720 distortion -0.01")
  let whole = try LensMap(lens, in: size)
  let half = try LensMap(lens, in: Size(width: 640, height: 360))
  for ray in rays {
    let position = try #require(whole.position(of: ray))
    #expect(distance(half.position(of: ray), position / 2) < 1e-9)
  }
  #expect(abs(whole.focalLength - 498.55) < 1e-9 && abs(half.focalLength - 249.275) < 1e-9)

  let error = #expect(throws: ParameterError.self) { try LensMap(lens, in: Size(width: 640, height: 480)) }
  #expect(
    error?.description == "lens: it is for 1280x720 pictures, which have another shape than 640x480")
}

@Test(
  "a distortion that folds the picture is refused with the radius at which it does",
  arguments: [
    // θ - 0.2 θ³ turns at 1.29 radians, 344.3 pixels; r - 0.5 r³ at 326.6 pixels.
    ("fisheye matrix 400,400,639.5,359.5 distortion -0.2", 344),
    ("pinhole matrix 600,600,639.5,359.5 distortion -0.5", 327),
    ("ptlens 0,0,1", 0),
  ])
func folds(text: String, radius: Int) {
  let error = #expect(throws: ParameterError.self) { try LensMap(Lens(parsing: text), in: size) }
  #expect(
    error?.description
      == "lens: its distortion folds the 1280x720 picture at a radius of \(radius) pixels from its centre")
}

@Test("a distortion that folds only beyond the picture, or in none of its positions, is accepted")
func foldsElsewhere() throws {
  // They turn at 486.9 pixels; the corners are nearer.
  let fisheye = try LensMap(
    Lens(parsing: "fisheye matrix 400,400,319.5,239.5 distortion -0.1"), in: Size(width: 640, height: 480))
  let behind = try #require(fisheye.position(of: [1, 0, -3]))
  #expect(behind.x > 640)
  #expect(throws: ParameterError.self) {
    try LensMap(Lens(parsing: "pinhole matrix 900,900,639.5,359.5 distortion 0,0,0.5,0.5"), in: size)
  }
}

@Test("a lens whose centre is far outside the picture is refused")
func lensCenter() {
  #expect(
    refusal { _ = try LensMap(Lens(.fisheye(), center: [9000, 10]), in: size) }
      == "lens: its centre 9000,10 is far outside the 1280x720 picture")
}
