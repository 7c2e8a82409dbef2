// Which part of a crop is seen and where it lands: content modes by hand, windows as exact fractions.
// Expected numbers are worked out from DESIGN.md ("Rendering semantics", 2 and 3), not from the code.
import PreviewCore
import Testing

private func placement(_ crop: (Int, Int), _ width: Int?, _ height: Int?, _ mode: ContentMode) -> Placement {
  Placement(of: Size(width: crop.0, height: crop.1), width: width, height: height, mode: mode)
}

/// Whether a window starts at `start.0 / start.1` and is `length.0 / length.1` long, exactly.
private func isWindow(_ window: SourceWindow, start: (Int, Int), length: (Int, Int)) -> Bool {
  window.denominator > 0 && window.start * start.1 == start.0 * window.denominator
    && window.length * length.1 == length.0 * window.denominator
}

private func isWhole(_ window: SourceWindow, _ length: Int) -> Bool {
  isWindow(window, start: (0, 1), length: (length, 1))
}

@Test(
  "without width and height the target has the crop's size, in every mode", arguments: ContentMode.allCases)
func bothSidesOpen(mode: ContentMode) {
  for crop in [(1920, 1080), (7, 3), (1, 1), (1, 65535)] {
    let whole = placement(crop, nil, nil, mode)
    #expect(whole.target == Size(width: crop.0, height: crop.1))
    #expect(whole.placed == Rectangle(all: whole.target))
    #expect(isWhole(whole.windowX, crop.0) && isWhole(whole.windowY, crop.1))
  }
}

@Test(
  "one given side keeps the aspect ratio: halves round up, and no side is below 1",
  arguments: [
    // crop, width, height, target
    ((1920, 1080), 640, nil, (640, 360)),
    ((1920, 1080), nil, 720, (1280, 720)),
    ((4, 3), 2, nil, (2, 2)),  // 1.5
    ((3, 4), nil, 2, (2, 2)),  // 1.5
    ((8, 5), 4, nil, (4, 3)),  // 2.5
    ((1000, 333), 100, nil, (100, 33)),  // 33.3
    ((1000, 337), 100, nil, (100, 34)),  // 33.7
    ((5, 2), 1, nil, (1, 1)),  // 0.4, but at least 1
    ((1000, 1), 10, nil, (10, 1)),  // 0.01
    ((1, 1000), nil, 10, (1, 10)),  // 0.01
    ((3, 2), 9, nil, (9, 6)),  // enlarges
  ] as [((Int, Int), Int?, Int?, (Int, Int))])
func oneSideGiven(crop: (Int, Int), width: Int?, height: Int?, target: (Int, Int)) {
  for mode in [ContentMode.fill, .fit, .stretch] {
    #expect(placement(crop, width, height, mode).target == Size(width: target.0, height: target.1))
  }
}

@Test("stretch shows the whole crop and fills the whole target")
func stretchMode() {
  let stretched = placement((7, 3), 20, 100, .stretch)
  #expect(stretched.placed == Rectangle(x: 0, y: 0, width: 20, height: 100))
  #expect(isWhole(stretched.windowX, 7) && isWhole(stretched.windowY, 3))
}

@Test(
  "fit centres the whole crop, its sides rounded to nearest, at least 1, and its offset down",
  arguments: [
    // crop, target, placed as x, y, width, height
    ((4, 3), (10, 10), (0, 1, 10, 8)),  // 7.5 -> 8; (10 - 8) / 2
    ((3, 4), (10, 10), (1, 0, 8, 10)),
    ((16, 9), (4, 4), (0, 1, 4, 2)),  // 2.25 -> 2
    ((1, 3), (5, 5), (1, 0, 2, 5)),  // 1.67 -> 2; floor(3 / 2)
    ((100, 1), (10, 10), (0, 4, 10, 1)),  // 0.1 -> 1; floor(9 / 2)
    ((1, 1), (5, 2), (1, 0, 2, 2)),  // floor(3 / 2)
    ((2, 1), (8, 8), (0, 2, 8, 4)),  // enlarges
    ((16, 9), (32, 18), (0, 0, 32, 18)),
    ((2, 1), (3, 3), (0, 0, 3, 2)),  // 1.5 -> 2; floor(1 / 2)
  ] as [((Int, Int), (Int, Int), (Int, Int, Int, Int))])
func fitMode(crop: (Int, Int), target: (Int, Int), placed: (Int, Int, Int, Int)) {
  let fitted = placement(crop, target.0, target.1, .fit)
  #expect(fitted.target == Size(width: target.0, height: target.1))
  #expect(fitted.placed == Rectangle(x: placed.0, y: placed.1, width: placed.2, height: placed.3))
  #expect(isWhole(fitted.windowX, crop.0) && isWhole(fitted.windowY, crop.1))
}

@Test("fill shows the centred window of the target's aspect ratio, as an exact fraction")
func fillMode() {
  // A square of 9 out of 16 columns, from (16 - 9) / 2 on.
  let square = placement((16, 9), 5, 5, .fill)
  #expect(square.placed == Rectangle(x: 0, y: 0, width: 5, height: 5))
  #expect(isWindow(square.windowX, start: (7, 2), length: (9, 1)) && isWhole(square.windowY, 9))

  // The same on its side.
  let turned = placement((9, 16), 5, 5, .fill)
  #expect(isWhole(turned.windowX, 9) && isWindow(turned.windowY, start: (7, 2), length: (9, 1)))

  // 3x2 of 10x7: factors 3/10 and 2/7 = 0.2857; the larger is 3/10, so 2 / (3/10) = 20/3 rows, from
  // (7 - 20/3) / 2 = 1/6 on.
  let uneven = placement((10, 7), 3, 2, .fill)
  #expect(isWhole(uneven.windowX, 10) && isWindow(uneven.windowY, start: (1, 6), length: (20, 3)))

  // A shape that agrees is seen whole.
  let same = placement((1920, 1080), 640, 360, .fill)
  #expect(isWhole(same.windowX, 1920) && isWhole(same.windowY, 1080))
}

@Test("inside fits without enlarging, and has no bars")
func insideMode() {
  func size(_ crop: (Int, Int), _ width: Int?, _ height: Int?) -> Size {
    let placed = placement(crop, width, height, .inside)
    #expect(placed.placed == Rectangle(all: placed.target))
    #expect(isWhole(placed.windowX, crop.0) && isWhole(placed.windowY, crop.1))
    return placed.target
  }

  #expect(size((4, 2), 100, 100) == Size(width: 4, height: 2))
  #expect(size((40, 20), 10, 10) == Size(width: 10, height: 5))
  #expect(size((40, 20), 10, nil) == Size(width: 10, height: 5))
  #expect(size((40, 20), nil, 10) == Size(width: 20, height: 10))
  #expect(size((40, 20), 100, nil) == Size(width: 40, height: 20))
  #expect(size((40, 20), 100, 5) == Size(width: 10, height: 5))
  #expect(size((5, 3), 2, 2) == Size(width: 2, height: 1))  // 1.2
  #expect(size((4, 3), 2, 2) == Size(width: 2, height: 2))  // 1.5
  #expect(size((1000, 1), 10, 10) == Size(width: 10, height: 1))  // 0.01
}

@Test("for all crops and targets up to 7x7, fill's window is inside, centred and of the target's shape")
func fillWindows() {
  for (cropWidth, cropHeight) in pairs(upTo: 7) {
    for (width, height) in pairs(upTo: 7) {
      let placed = placement((cropWidth, cropHeight), width, height, .fill)
      let (x, y) = (placed.windowX, placed.windowY)
      #expect(x.start >= 0 && y.start >= 0 && x.length > 0 && y.length > 0)
      #expect(2 * x.start + x.length == cropWidth * x.denominator)
      #expect(2 * y.start + y.length == cropHeight * y.denominator)
      // length x / width == length y / height, both over their denominators.
      #expect(x.length * y.denominator * height == y.length * x.denominator * width)
      // One of the two is whole: no more is cut away than needed.
      #expect(isWhole(x, cropWidth) || isWhole(y, cropHeight))
    }
  }
}

@Test(
  "for all crops and targets up to 7x7, fit is inside the target and within half a pixel")
func fitRectangles() {
  for (cropWidth, cropHeight) in pairs(upTo: 7) {
    for (width, height) in pairs(upTo: 7) {
      let placed = placement((cropWidth, cropHeight), width, height, .fit).placed
      #expect(placed.isInside(Size(width: width, height: height)))
      #expect(placed.width == width || placed.height == height)
      let scale = min(Double(width) / Double(cropWidth), Double(height) / Double(cropHeight))
      #expect(placed.width == 1 || abs(Double(placed.width) - scale * Double(cropWidth)) <= 0.5)
      #expect(placed.height == 1 || abs(Double(placed.height) - scale * Double(cropHeight)) <= 0.5)
    }
  }
}

@Test("sides of 65535 pixels do not overflow", arguments: ContentMode.allCases)
func longSides(mode: ContentMode) {
  let longest = 65535
  let sides = [1, 2, longest - 1, longest]

  for crop in sides.flatMap({ width in sides.map { (width, $0) } }) {
    for target in sides.flatMap({ width in sides.map { (width, $0) } }) {
      let placed = placement(crop, target.0, target.1, mode)
      #expect(placed.placed.isInside(placed.target))
    }
    #expect(placement(crop, longest, nil, mode).target.height >= 1)
    #expect(placement(crop, nil, longest, mode).target.width >= 1)
  }

  // A row of 65535 columns: of 65535 rows the middle one is seen.
  let row = placement((longest, longest), longest, 1, .fill)
  #expect(isWindow(row.windowY, start: (32767, 1), length: (1, 1)))
}

private func pairs(upTo side: Int) -> [(Int, Int)] {
  (1...side).flatMap { first in (1...side).map { (first, $0) } }
}

@Suite("Sources that change size")
struct RescalingTests {
  @Test(
    "a crop is rescaled to the same part of the picture, in whole pixels and inside",
    arguments: [
      (Rectangle(x: 100, y: 50, width: 200, height: 100), Size(width: 320, height: 240), "50,25 100x50"),
      (Rectangle(x: 101, y: 51, width: 201, height: 101), Size(width: 320, height: 240), "51,26 100x50"),
      (Rectangle(x: 0, y: 0, width: 640, height: 480), Size(width: 3, height: 7), "0,0 3x7"),
      (Rectangle(x: 639, y: 479, width: 1, height: 1), Size(width: 10, height: 10), "9,9 1x1"),
      (Rectangle(x: 10, y: 10, width: 1, height: 1), Size(width: 1, height: 1), "0,0 1x1"),
      (Rectangle(x: 1, y: 2, width: 3, height: 4), Size(width: 1280, height: 480), "2,2 6x4"),
    ])
  func crops(crop: Rectangle, size: Size, expected: String) throws {
    let view = ViewConfiguration(crop: crop).rescaled(from: Size(width: 640, height: 480), to: size)
    let result = try #require(view.crop)
    #expect("\(result.x),\(result.y) \(result.size)" == expected)
    #expect(result.isInside(size))
  }

  @Test("rescaling changes nothing without a crop or at the same size")
  func unchanged() {
    let size = Size(width: 640, height: 480)
    let crop = ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 3, height: 4))
    #expect(crop.rescaled(from: size, to: size) == crop)
    let whole = ViewConfiguration(width: 10)
    #expect(whole.rescaled(from: size, to: Size(width: 1, height: 1)) == whole)
  }
}
