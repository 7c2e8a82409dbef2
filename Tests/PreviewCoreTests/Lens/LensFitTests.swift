// Fits of lenses to straight lines: points that a known lens shows give that lens again.
import TestSupport
import Testing

@testable import PreviewCore

private let size = Size(width: 1280, height: 960)

private typealias Edge = (start: SIMD3<Double>, end: SIMD3<Double>)

/// Straight lines of a scene, by their ends, for fisheyes.
private let wide: [Edge] = [
  ([-1, -0.8, 1], [1, -0.8, 1]), ([-1, 0.9, 1], [1, 0.9, 1]), ([-1.2, -1, 1], [-1.2, 1, 1]),
  ([1.1, -1, 0.8], [1.1, 1, 0.8]), ([-0.5, -1, 0.6], [-0.5, 1, 0.6]),
]
/// Straight lines that other lenses see.
private let narrow: [Edge] = [
  ([-0.52, -0.38, 1], [0.52, -0.38, 1]), ([-0.52, 0.38, 1], [0.52, 0.38, 1]),
  ([-0.5, -0.38, 1], [-0.5, 0.38, 1]), ([0.5, -0.38, 1], [0.5, 0.38, 1]), ([-0.5, -0.3, 1], [0.5, 0.3, 1]),
]

/// Lines through the centre.
private let crossing: [Edge] = [
  ([-1, -0.5, 1], [1, 0.5, 1]), ([-0.2, 0.8, 1], [0.2, -0.8, 1]), ([1, -0.6, 1], [-1, 0.6, 1]),
]
/// Short lines, all level.
private let parallel: [Edge] = [-0.2, -0.1, 0.1, 0.2].map { (height: Double) -> Edge in
  ([-0.3, height, 1], [0.3, height, 1])
}
/// 1 % of the picture's diagonal.
private let largestError = 16.0

/// A lens, one whose numbers are off, and the words that find the numbers.
private struct Case {
  let lens: String
  let start: String
  let words: String

  var edges: [Edge] { lens.hasPrefix("fisheye") ? wide : narrow }
}

private let cases = [
  Case(
    lens: "fisheye curve equidistant center 650,470 radius 500",
    start: "fisheye curve equidistant radius 470",
    words: "radius,center"),
  Case(
    lens: "fisheye curve equisolid center 650,470 radius 500", start: "fisheye curve equisolid radius 440",
    words: "center,radius"),
  Case(
    lens: "fisheye curve stereographic center 650,470 radius 500", start: "fisheye curve stereographic",
    words: "radius,center"),
  Case(
    lens: "fisheye curve orthographic center 650,470 radius 500", start: "fisheye curve orthographic",
    words: "radius,center"),
  Case(lens: "fisheye fov 190 radius 500", start: "fisheye fov 170 radius 500", words: "fov"),
  Case(
    lens: "fisheye matrix 320,322,639.5,479.5 distortion -0.03,0.004",
    start: "fisheye matrix 320,322,639.5,479.5", words: "k1,k2"),
  Case(
    lens: "fisheye matrix 320,324,649.5,469.5 distortion -0.03,0.004",
    start: "fisheye matrix 300,303.75,639.5,479.5 distortion -0.03,0.004", words: "matrix"),
  Case(
    lens: "pinhole matrix 900,900,649.5,469.5 distortion -0.28,0.1",
    start: "pinhole matrix 900,900,639.5,479.5", words: "center,k1,k2"),
  Case(
    lens: "pinhole matrix 900,900,639.5,479.5 distortion -0.25,0.08,0.002,-0.001",
    start: "pinhole matrix 900,900,639.5,479.5", words: "k1,k2,p1,p2"),
  Case(lens: "ptlens 0.01,-0.03,0.004", start: "ptlens 0,0,0.004", words: "a,b"),
  Case(lens: "ptlens 0.01,-0.03,0.004", start: "ptlens 0,0,0", words: "a,b,c"),
]

/// Returns eight points of each edge, moved in both directions by up to `noise` pixels.
private func seen(
  _ edges: [Edge], through lens: String, noise: Double = 0, seed: UInt64 = 41
) throws -> [StraightLine] {
  let map = try LensMap(Lens(parsing: lens), in: size)
  var random = SeededGenerator(seed: seed)
  return try edges.map { edge in
    var points: [SIMD2<Double>] = []
    for step in 0..<8 {
      let ray = edge.start + (edge.end - edge.start) * (Double(step) / 7)
      let shift = SIMD2(
        Double.random(in: -1...1, using: &random), Double.random(in: -1...1, using: &random))
      points.append(try #require(map.position(of: ray)) + shift * noise)
    }
    return try StraightLine(points)
  }
}

private func fit(_ lens: String, _ words: String, _ lines: [StraightLine]) throws -> LensFit {
  try LensFit(Lens(parsing: lens), LensParameter.list(parsing: words), to: lines, in: size)
}

/// Returns the largest distance between the positions at which two lenses show points of edges.
private func largestMove(_ one: Lens, _ other: Lens, _ edges: [Edge]) throws -> Double {
  let maps = (try LensMap(one, in: size), try LensMap(other, in: size))
  var largest = 0.0
  for edge in edges {
    for step in 0...20 {
      let ray = edge.start + (edge.end - edge.start) * (Double(step) / 20)
      let position = try #require(maps.1.position(of: ray))
      largest = max(largest, distance(maps.0.position(of: ray), position))
    }
  }
  return largest
}

@Test("points of straight lines lie on the curves of the lens that shows them", arguments: cases.indices)
func straightThroughTheirLens(index: Int) throws {
  let map = try LensMap(Lens(parsing: cases[index].lens), in: size)
  for line in try seen(cases[index].edges, through: cases[index].lens) {
    let distances = try #require(line.distances(through: map))
    #expect(distances.allSatisfy { abs($0) < 1e-6 })
  }
}

@Test("a point beside a line is as far from its curve as it was moved")
func distanceOfPoint() throws {
  let lens = try LensMap(Lens(parsing: "pinhole"), in: size)
  var points: [SIMD2<Double>] = (0..<40).map { [100 + 20 * Double($0), 300] }
  points.append([520, 303])
  let distances = try #require(StraightLine(points).distances(through: lens))
  // The other points hold the line, which gives way by a fortieth.
  #expect(abs(abs(distances[40]) - 3) < 0.15)
  #expect(distances[..<40].allSatisfy { abs($0) < 0.15 })
}

@Test("a fit to exact points finds the lens within 0.1 pixels", arguments: cases.indices)
func exactFits(index: Int) throws {
  let (edges, lens, start) = (cases[index].edges, cases[index].lens, cases[index].start)
  let found = try fit(start, cases[index].words, seen(edges, through: lens))
  #expect(found.after < 0.05 && found.before > 10 * found.after, "\(lens): \(found.before), \(found.after)")
  #expect(try largestMove(found.lens, Lens(parsing: lens), edges) < 0.1, "\(found.lens)")
  // The text is one to paste, for pictures of any size.
  #expect(try Lens(parsing: found.lens.description) == found.lens)
  #expect(found.lens.size == size || !found.lens.hasPixels)
  #expect(found.uncertain.isEmpty && found.uncertainty > 0 && found.uncertainty < largestError)
}

@Test(
  "a fit to points that are off by half a pixel finds the lens within its errors", arguments: cases.indices)
func noisyFits(index: Int) throws {
  let (edges, lens, words) = (cases[index].edges, cases[index].lens, cases[index].words)
  let found = try fit(cases[index].start, words, seen(edges, through: lens, noise: 0.5))
  #expect(found.after < 0.4, "\(lens): \(found.after)")
  let exact = try fit(cases[index].start, words, seen(edges, through: lens))
  for (one, other) in zip(found.numbers, exact.numbers) {
    #expect(abs(one.value - other.value) < 5 * one.error, "\(lens): \(one), \(other)")
  }
}

@Test(
  "a fit to points that are off by five pixels finds the lens within its errors, and names large ones",
  arguments: cases.indices)
func roughFits(index: Int) throws {
  let (edges, lens, words) = (cases[index].edges, cases[index].lens, cases[index].words)
  let found = try fit(cases[index].start, words, seen(edges, through: lens, noise: 5))
  let exact = try fit(cases[index].start, words, seen(edges, through: lens))
  for (one, other) in zip(found.numbers, exact.numbers) {
    #expect(abs(one.value - other.value) < 4 * one.error, "\(lens): \(one), \(other)")
  }
  #expect(found.uncertainty > 3 * exact.uncertainty, "\(found.uncertainty), \(exact.uncertainty)")
  #expect(found.uncertain.isEmpty == (found.uncertainty <= largestError), "\(found.uncertain)")
}

@Test(
  "the parameters that rough points hardly determine are named",
  arguments: [(0, 0.5, ""), (0, 12.0, "radius and center"), (5, 0.5, ""), (5, 5.0, "k1 and k2")])
func uncertainParameters(index: Int, noise: Double, names: String) throws {
  let (edges, lens, start) = (cases[index].edges, cases[index].lens, cases[index].start)
  let found = try fit(start, cases[index].words, seen(edges, through: lens, noise: noise))
  #expect(LensParameter.text(of: found.uncertain) == names, "\(found.uncertainty)")
}

@Test("without more points than numbers, nothing shows the points' errors: all parameters are uncertain")
func noSparePoints() throws {
  let lines = try seen(wide, through: "fisheye radius 500 center 640,480", noise: 5)
  let three = try lines.prefix(3).map { try StraightLine([$0.points[0], $0.points[4], $0.points[7]]) }
  let found = try fit("fisheye radius 480", "radius,center", three)
  #expect(found.after < 0.1 && found.uncertain == [.radius, .center], "\(found.after), \(found.uncertain)")
  #expect(throws: ParameterError("line", "all points are within a pixel")) {
    try StraightLine([[100, 100], [100.5, 100], [100.9, 100.1]])
  }
}

@Test("coefficients have as many digits as their powers need")
func smallCoefficients() throws {
  let lens = "pinhole matrix 320,320,639.5,479.5 distortion -0.03,0.0006,0,0,-0.0000045"
  let edges: [Edge] = [
    ([-2.2, -1.6, 1], [2.2, -1.6, 1]), ([-2.2, 1.6, 1], [2.2, 1.6, 1]), ([-2.2, -1.6, 1], [-2.2, 1.6, 1]),
    ([2.2, -1.6, 1], [2.2, 1.6, 1]), ([-2.2, -1.2, 1], [2.2, 1.2, 1]),
  ]
  #expect(try fit(lens, "k1,k2,k3", seen(edges, through: lens)).after < 0.003)
}

@Test("a curve is uncertain where lines are about as straight with another one")
func uncertainCurve() throws {
  let lens = "fisheye curve equidistant center 650,470 radius 500"
  let start = "fisheye center 640,480 radius 490"
  let exact = try fit(start, "curve,radius,center", seen(wide, through: lens))
  let rough = try fit(start, "curve,radius,center", seen(wide, through: lens, noise: 5))
  #expect(exact.uncertain.isEmpty)
  #expect(rough.uncertain == [.curve] && rough.curves.count == 4, "\(rough.uncertain)")
  // Half of what is between the pictures of both curves.
  #expect(rough.uncertainty > largestError, "\(rough.uncertainty)")
}

@Test(
  "rough lines through the centre give no radius, or one that is called uncertain", arguments: 1...6)
func roughCrossing(seed: Int) throws {
  let lines = try seen(crossing, through: "fisheye radius 500", noise: 3, seed: UInt64(seed))
  var found: LensFit?
  let text = refusal { found = try fit("fisheye radius 480", "radius", lines) }
  let reasons = ["do not determine radius", "with the best numbers a line spans 2"]
  let isRefused = reasons.contains { text?.contains($0) == true }
  #expect(isRefused || found?.uncertain == [.radius], "\(text ?? "accepted")")
}

@Test(
  "the curve of a line passes the points at their distances, and ends where they end",
  arguments: cases.indices)
func curves(index: Int) throws {
  let map = try LensMap(Lens(parsing: cases[index].lens), in: size)
  for line in try seen(cases[index].edges, through: cases[index].lens, noise: 5) {
    let distances = try #require(line.distances(through: map))
    let curve = line.curve(through: map)
    let ways = line.points.map { way(from: $0, to: curve) }
    for (way, distance) in zip(ways, distances) { #expect(abs(way - abs(distance)) < 1) }
    #expect(ways.rms < 1.1 * distances.rms && ways.rms > 0.9 * distances.rms)
    let ends = [try #require(curve.first), try #require(curve.last)]
    for point in [line.points[0], line.points[7]] {
      #expect(ends.contains { distance($0, point) < 8 }, "\(ends), \(point)")
    }
    let span = try #require(line.span(through: map))
    #expect(span < 180)
  }
}

/// Returns the distance of a point from segments between positions.
private func way(from point: SIMD2<Double>, to curve: [SIMD2<Double>]) -> Double {
  let squares = zip(curve, curve.dropFirst()).map { start, end in
    let along = end - start
    let length = max((along * along).sum(), 1e-12)
    let part = min(max(((point - start) * along).sum() / length, 0), 1)
    let rest = point - start - along * part
    return (rest * rest).sum()
  }
  return (squares.min() ?? .infinity).squareRoot()
}

@Test(
  "a fit of the curve tries all four, and finds the one with which lines are straight",
  arguments: Lens.Curve.allCases)
func curveFits(curve: Lens.Curve) throws {
  let lines = try seen(wide, through: "fisheye curve \(curve) center 650,470 radius 500")
  let found = try fit("fisheye center 640,480 radius 490", "curve,radius,center", lines)
  #expect(found.lens.model == .curve(curve))
  #expect(found.curves.count == 4)
  #expect(found.after < 0.05)
}

@Test("where the straightest lens would fold the picture beyond the lines, the fit gives one that does not")
func foldingFit() throws {
  let lens = try Lens(parsing: "fisheye matrix 320,320,639.5,479.5 distortion -0.05")
  #expect(throws: ParameterError.self) { try LensMap(lens, in: size) }
  let map = try LensMap(lens, in: size, reaching: [[1100, 480]])
  let lines = try wide.map { edge in
    let rays = (0..<8).map { edge.start + (edge.end - edge.start) * (Double($0) / 7) }
    return try StraightLine(rays.compactMap { map.position(of: $0) })
  }
  let found = try fit("fisheye matrix 320,320,639.5,479.5", "k1", lines)
  let exact = try LensMap(found.lens, in: size)
  #expect(exact.size == size)
  #expect(
    found.after > 0.1 && found.after < found.before / 1.5, "\(found.lens): \(found.before), \(found.after)")
}

@Test("lines in pictures of another size than the lens's give numbers in the lens's pixels")
func scaledFit() throws {
  let lines = try seen(wide, through: "fisheye center 650,470 radius 500")
  let found = try fit("fisheye radius 940 center 1290,950 size 2560x1920", "radius,center", lines)
  #expect(found.lens.size == Size(width: 2560, height: 1920))
  #expect(abs((found.lens.radius ?? 0) - 1000) < 0.1)
}

@Test(
  "words that lines can't determine, and too few lines, are refused by name",
  arguments: [
    ("pinhole", "fov", "fov of pinhole: straight lines do not determine the focal length"),
    ("pinhole matrix 900,900,639.5,479.5", "matrix", "matrix of pinhole: straight lines do not"),
    ("ptlens 0,0,0", "fov", "fov of ptlens: straight lines do not"),
    ("pinhole", "center", "do not determine center"),
    ("pinhole", "a", "a is not a parameter of pinhole"),
    ("fisheye", "p1", "p1 is not a parameter of fisheye"),
    ("fisheye", "radius,fov", "radius and fov"), ("fisheye", "radius,radius", "twice"),
    ("fisheye", "curve,k1", "curve"), ("fisheye distortion 0.01", "curve", "without distortion"),
    ("fisheye", "matrix", "matrix is not given"), ("fisheye", "height", "'height' is not one of radius"),
    ("fisheye matrix 320,320,640,480", "radius", "does not go with matrix"),
    ("fisheye matrix 320,320,640,480", "matrix,center", "contains center"),
  ])
func refusedWords(lens: String, words: String, reason: String) throws {
  let through = lens.hasPrefix("ptlens") ? "ptlens 0.01,-0.03,0.004" : "pinhole"
  let lines = try seen(narrow, through: through)
  let text = refusal { _ = try fit(lens, words, lines) }
  #expect(text?.hasPrefix("fit: ") == true && text?.contains(reason) == true, "\(text ?? "accepted")")
}

@Test(
  "lines through the centre do not determine a radius, nor short level ones or one a centre, nor five k3")
func undeterminedLines() throws {
  let lens = "fisheye radius 500"
  let radial = try seen(crossing, through: lens, noise: 0.3)
  let through = refusal { _ = try fit(lens, "radius", radial) }
  #expect(through?.contains("do not determine radius") == true, "\(through ?? "accepted")")
  let level = try seen(parallel, through: lens, noise: 0.3)
  let short = refusal { _ = try fit("fisheye radius 480", "radius,center", level) }
  #expect(short?.contains("do not determine center") == true, "\(short ?? "accepted")")
  let one = try seen([wide[0]], through: lens)
  let single = refusal { _ = try fit("fisheye radius 480", "radius,center", one) }
  #expect(single?.contains("do not determine") == true, "\(single ?? "accepted")")
  let bent = try seen(narrow, through: "pinhole fov 71 distortion -0.28,0.1", noise: 0.5)
  let third = refusal { _ = try fit("pinhole fov 71", "k1,k2,k3", bent) }
  #expect(third?.contains("do not determine k2 and k3") == true, "\(third ?? "accepted")")
  let middle = try [StraightLine([[400, 480], [640, 480], [900, 480]])]
  let curve = refusal { _ = try fit("fisheye", "curve", middle) }
  #expect(curve?.contains("do not determine curve") == true, "\(curve ?? "accepted")")
  let three = try [StraightLine([[100, 100], [200, 90], [300, 100]])]
  let few = refusal { _ = try fit(lens, "radius,center", three) }
  #expect(few?.contains("3 numbers need 3 points") == true, "\(few ?? "accepted")")
}

@Test(
  "points that are none, or outside the picture, are refused",
  arguments: [
    ("1,2 3,4", "3 to 1000 points"), ("1,2 3,4 1,2", "two points are the same"),
    ("1,2 3,4 5", "'5' is not a point"),
    ("1,2 3,4 -5,6", "'-5,6' is not a point"), ("", "not 0"),
    ("1,2 3,4 1281,6", "1281,6 is outside the 1280x960 picture"),
  ])
func refusedPoints(text: String, reason: String) throws {
  let map = try LensMap(Lens(parsing: "fisheye"), in: size)
  let error = refusal { try StraightLine(parsing: text).check(in: map) }
  #expect(error?.hasPrefix("line: ") == true && error?.contains(reason) == true, "\(error ?? "accepted")")
}
