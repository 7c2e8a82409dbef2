// Where tiles lie, by hand: grids, strips, insets, and what fits nowhere.
import PreviewCore
import Testing

private func tiles(_ count: Int) -> [Tile] { (0..<count).map { Tile("s\($0)") } }

private func rectangles(
  _ layout: Scene.Layout, _ count: Int, _ width: Int, _ height: Int, gap: Int = 0,
  aspect: Size = Size(width: 16, height: 9)
) throws(ParameterError) -> [String] {
  try layout.rectangles(
    for: tiles(count), in: Size(width: width, height: height), gap: gap, tileAspect: aspect
  ).map(\.description)
}

private func doTouch(_ one: Rectangle, _ other: Rectangle) -> Bool {
  one.x < other.x + other.width && other.x < one.x + one.width
    && one.y < other.y + other.height && other.y < one.y + one.height
}

@Test(
  "a grid has the columns that make 16:9 tiles largest, and the fewest rows on ties",
  arguments: [
    // tiles, picture, columns, rows
    (1, (1920, 1080), 1, 1),
    (2, (1920, 1080), 2, 1),  // as large above one another; fewer rows win
    (3, (1920, 1080), 2, 2), (4, (1920, 1080), 2, 2),
    (5, (1920, 1080), 3, 2),  // 2 x 3 are as large
    (6, (1920, 1080), 3, 2), (7, (1920, 1080), 3, 3), (9, (1920, 1080), 3, 3),
    (10, (1920, 1080), 4, 3), (12, (1920, 1080), 4, 3), (16, (1920, 1080), 4, 4),
    (17, (1920, 1080), 5, 4), (25, (1920, 1080), 5, 5), (49, (1920, 1080), 7, 7),
    (2, (1080, 1920), 1, 2), (3, (1080, 1920), 1, 3),
    (5, (1080, 1920), 1, 5),  // 683 x 384 in rows of 384; two columns have 540 x 304
    (4, (4000, 100), 4, 1), (4, (100, 4000), 1, 4),
    (5, (4000, 500), 5, 1),  // 800 x 450
    (7, (1000, 400), 4, 2),  // 250 x 141 each; three columns have 237 x 133
  ] as [(Int, (Int, Int), Int, Int)])
func gridColumns(count: Int, picture: (Int, Int), columns: Int, rows: Int) throws {
  let grid = try Scene.Layout.grid.rectangles(
    for: tiles(count), in: Size(width: picture.0, height: picture.1))
  // The last row may be moved; above it, or where there is no other, columns begin where they begin.
  #expect(Set(grid.map(\.y)).count == rows)
  #expect(grid.filter { $0.y == 0 }.count == columns)
}

@Test("grid tiles have the hand-computed pixel rectangles")
func grids() throws {
  #expect(try rectangles(.grid, 1, 1920, 1080) == ["1920x1080+0+0"])
  #expect(try rectangles(.grid, 1, 100, 60, gap: 8) == ["84x44+8+8"])
  #expect(try rectangles(.grid, 2, 1280, 720, gap: 8) == ["628x704+8+8", "628x704+644+8"])
  // The last row is centred: half of one tile and its gap is (1280 - 8) / 2 / 2 = 318.
  #expect(
    try rectangles(.grid, 3, 1280, 720, gap: 8) == ["628x348+8+8", "628x348+644+8", "628x348+326+364"])
  #expect(
    try rectangles(.grid, 5, 1920, 1080) == [
      "640x540+0+0", "640x540+640+0", "640x540+1280+0", "640x540+320+540", "640x540+960+540",
    ])
  // 10 does not divide by 3: edges at 0, 3.33, 6.67, 10 round to 0, 3, 7, 10.
  #expect(try rectangles(.grid, 3, 10, 2) == ["3x2+0+0", "4x2+3+0", "3x2+7+0"])
  // Halves round up: 7 / 2 is 4, and 5 / 2 is 3.
  #expect(try rectangles(.grid, 4, 7, 5) == ["4x3+0+0", "3x3+4+0", "4x2+0+3", "3x2+4+3"])
  // Portraits in a wide picture stand side by side.
  #expect(
    try rectangles(.grid, 3, 900, 600, aspect: Size(width: 1, height: 2)) == [
      "300x600+0+0", "300x600+300+0", "300x600+600+0",
    ])
}

@Test(
  "grid tiles never overlap, keep their gap, stay inside, and differ by at most one pixel", arguments: 1...49)
func gridsAreApart(count: Int) throws {
  for (width, height, gap) in [
    (1920, 1080, 0), (1280, 720, 8), (641, 363, 3), (101, 997, 1), (997, 101, 2), (49, 49, 0),
  ] {
    let size = Size(width: width, height: height)
    let grid = try Scene.Layout.grid.rectangles(for: tiles(count), in: size, gap: gap)
    #expect(grid.count == count)

    for (index, tile) in grid.enumerated() {
      #expect(tile.width > 0 && tile.height > 0)
      #expect(tile.x >= gap && tile.x + tile.width <= width - gap)
      #expect(tile.y >= gap && tile.y + tile.height <= height - gap)
      let wide = Rectangle(
        x: tile.x - gap, y: tile.y - gap, width: tile.width + gap, height: tile.height + gap)
      for other in grid[..<index] { #expect(!doTouch(wide, other), "\(tile) and \(other) in \(size)") }
    }

    // As even as whole pixels are.
    let widths = grid.map(\.width)
    let heights = grid.map(\.height)
    #expect((widths.max() ?? 0) - (widths.min() ?? 0) <= 1)
    #expect((heights.max() ?? 0) - (heights.min() ?? 0) <= 1)
  }
}

@Test("a grid works at the smallest sizes, and is rejected if its tiles do not fit")
func tinyGrids() throws {
  #expect(try rectangles(.grid, 1, 1, 1) == ["1x1+0+0"])
  #expect(try rectangles(.grid, 2, 2, 1) == ["1x1+0+0", "1x1+1+0"])
  #expect(try rectangles(.grid, 2, 1, 2) == ["1x1+0+0", "1x1+0+1"])
  #expect(try rectangles(.grid, 4, 2, 2) == ["1x1+0+0", "1x1+1+0", "1x1+0+1", "1x1+1+1"])
  #expect(try rectangles(.grid, 1, 3, 3, gap: 1) == ["1x1+1+1"])

  #expect(throws: ParameterError("size", "1 tiles with gaps of 1 don't fit 2x2")) {
    try rectangles(.grid, 1, 2, 2, gap: 1)
  }
  #expect(throws: ParameterError("size", "5 tiles with gaps of 0 don't fit 2x2")) {
    try rectangles(.grid, 5, 2, 2)
  }
}

@Test("a spotlight strip holds the other tiles in order, at 16:9 and centred")
func spotlights() throws {
  // A fifth of 720 is 144; 16:9 of that is 256; two of them leave 1280 - 512 = 768.
  #expect(
    try rectangles(.spotlight(main: 0), 3, 1280, 720) == [
      "1280x576+0+0", "256x144+384+576", "256x144+640+576",
    ])
  #expect(
    try rectangles(.spotlight(main: 1, strip: Scene.Strip(edge: .top)), 3, 1280, 720) == [
      "256x144+384+0", "1280x576+0+144", "256x144+640+0",
    ])

  // A quarter of 1600 is 400; 9/16 of that is 225; gaps of 10 are between all and at the edges.
  let right = Scene.Layout.spotlight(main: 0, strip: Scene.Strip(edge: .right, share: 0.25))
  #expect(
    try rectangles(right, 3, 1600, 900, gap: 10) == [
      "1170x880+10+10", "400x225+1190+220", "400x225+1190+455",
    ])
  let left = Scene.Layout.spotlight(main: 2, strip: Scene.Strip(edge: .left, share: 0.25))
  #expect(
    try rectangles(left, 3, 1600, 900, gap: 10) == [
      "400x225+10+220", "400x225+10+455", "1170x880+420+10",
    ])
  #expect(try rectangles(.spotlight(main: 0), 1, 100, 50, gap: 5) == ["90x40+5+5"])
}

@Test("a full spotlight strip has narrower tiles, and is rejected if they do not fit")
func fullStrip() throws {
  // 7 of 256 are more than 1280: edges at 182.86, 365.71, 548.57, 731.43, 914.29, 1097.14.
  let strip = try rectangles(.spotlight(main: 0), 8, 1280, 720)
  #expect(
    strip.dropFirst() == [
      "183x144+0+576", "183x144+183+576", "183x144+366+576", "182x144+549+576", "183x144+731+576",
      "183x144+914+576", "183x144+1097+576",
    ])
  #expect(throws: ParameterError.self) { try rectangles(.spotlight(main: 0), 49, 47, 47) }
}

@Test("insets stack in their corner towards the middle, and are rejected if they do not fit")
func insets() throws {
  #expect(try rectangles(.inset(), 1, 1280, 720) == ["1280x720+0+0"])
  // A quarter of 1280 is 320, and 9/16 of that 180.
  #expect(
    try rectangles(.inset(), 3, 1280, 720, gap: 10) == [
      "1280x720+0+0", "320x180+944+524", "320x180+944+334",
    ])

  for (corner, place) in [
    (Scene.Inset.Corner.topLeft, "+5+5"), (.topRight, "+535+5"), (.bottomLeft, "+5+236"),
    (.bottomRight, "+535+236"),
  ] {
    let inset = Scene.Inset(corner: corner, share: 0.1, margin: 5)
    #expect(try rectangles(.inset(inset), 2, 600, 275) == ["600x275+0+0", "60x34+" + place.dropFirst()])
  }

  #expect(
    try rectangles(.inset(Scene.Inset(share: 1, margin: 0)), 2, 160, 90) == ["160x90+0+0", "160x90+0+0"])
  #expect(throws: ParameterError("size", "5 tiles with gaps of 10 don't fit 1280x720")) {
    try rectangles(.inset(), 5, 1280, 720, gap: 10)
  }
}

@Test("a free tile may lie partly outside the picture, and needs a valid rectangle")
func freeTiles() throws {
  let size = Size(width: 100, height: 100)
  let half = Rectangle(x: -10, y: 90, width: 20, height: 30)

  #expect(try Scene.Layout.free.rectangles(for: [Tile("a", rectangle: half)], in: size) == [half])
  #expect(throws: ParameterError("tile 2 (b)", "has no rectangle, which the layout 'free' needs")) {
    try Scene.Layout.free.rectangles(for: [Tile("a", rectangle: half), Tile("b")], in: size)
  }

  for wrong in [
    Rectangle(x: 0, y: 0, width: 0, height: 5), Rectangle(x: 0, y: 0, width: 5, height: -1),
    Rectangle(x: 70000, y: 0, width: 5, height: 5), Rectangle(x: .min, y: .max, width: .max, height: .max),
  ] {
    #expect(throws: ParameterError.self) {
      try Scene.Layout.free.rectangles(for: [Tile("a", rectangle: wrong)], in: size)
    }
  }
}

@Test(
  "a layout rejects 0 tiles, 50 tiles, and invalid sizes, gaps and aspect ratios",
  arguments: [Scene.Layout.grid, .spotlight(), .inset(), .free])
func refusedLayouts(layout: Scene.Layout) {
  let size = Size(width: 1280, height: 720)
  func isRefused(
    _ key: String, _ tiles: [Tile], _ size: Size, gap: Int = 0, aspect: Size = Size(width: 16, height: 9)
  ) {
    #expect {
      try layout.rectangles(for: tiles, in: size, gap: gap, tileAspect: aspect)
    } throws: { error in
      (error as? ParameterError)?.key == key
    }
  }

  isRefused("tiles", [], size)
  isRefused("tiles", tiles(50), size)
  isRefused("size", tiles(1), Size(width: 0, height: 720))
  isRefused("size", tiles(1), Size(width: 1280, height: -1))
  isRefused("size", tiles(1), Size(width: .max, height: .max))
  isRefused("gap", tiles(1), size, gap: -1)
  isRefused("gap", tiles(1), size, gap: .max)
  isRefused("aspect", tiles(1), size, aspect: Size(width: 0, height: 9))
}

@Test("an invalid main tile, share or margin is rejected")
func refusedShares() {
  for layout in [
    Scene.Layout.spotlight(main: 2), .spotlight(main: -1), .spotlight(strip: Scene.Strip(share: 0)),
    .spotlight(strip: Scene.Strip(share: 1)), .spotlight(strip: Scene.Strip(share: .nan)),
    .inset(Scene.Inset(share: 0)), .inset(Scene.Inset(share: 1.1)), .inset(Scene.Inset(share: .nan)),
    .inset(Scene.Inset(margin: -1)), .inset(Scene.Inset(margin: .max)),
  ] {
    #expect(throws: ParameterError.self, "\(layout)") { try rectangles(layout, 2, 1280, 720) }
  }
}
