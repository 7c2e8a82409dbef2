// Scenes as layers: tiles, their order, their dress. Expected layers are written out by hand.
import PreviewCore
import Testing

private let wide = Size(width: 1280, height: 720)
private let plain = ViewConfiguration()

private func composed(
  _ scene: Scene, _ sources: [String: SourceAppearance] = ["a": .live, "b": .live, "c": .live],
  text: (any TextRenderer)? = nil
) throws(ParameterError) -> ComposedScene {
  try scene.composed(sources, at: .testing, text: text)
}

@Test("a grid of live sources has one view layer per tile and one input per source")
func plainGrid() throws {
  let scene = try composed(Scene(size: wide, tiles: [Tile("a"), Tile("b"), Tile("a")], gap: 8))

  #expect(scene.inputs == [.source("a"), .source("b")])
  #expect(
    scene.composition
      == Composition(
        size: wide,
        layers: [
          Layer(.view(input: 0, plain), in: Rectangle(x: 8, y: 8, width: 628, height: 348)),
          Layer(.view(input: 1, plain), in: Rectangle(x: 644, y: 8, width: 628, height: 348)),
          Layer(.view(input: 0, plain), in: Rectangle(x: 326, y: 364, width: 628, height: 348)),
        ]))
}

@Test("tiles are drawn in order of zIndex, and in list order at the same zIndex")
func zOrder() throws {
  let all = Rectangle(x: 0, y: 0, width: 10, height: 10)
  let scene = try composed(
    Scene(
      size: wide, layout: .free,
      tiles: [Tile("a", rectangle: all, zIndex: 1), Tile("b", rectangle: all), Tile("c", rectangle: all)]))
  #expect(scene.inputs == [.source("b"), .source("c"), .source("a")])
  #expect(scene.composition.layers.map(\.content) == (0..<3).map { .view(input: $0, plain) })
}

@Test("a tile's layer keeps its view's surround, and ignores the view's name and size")
func surrounds() throws {
  var view = ViewConfiguration(
    name: "x", mirroring: .horizontal, width: 5, height: 5, contentMode: .fit, background: .white)
  let all = Rectangle(all: wide)

  for surround in [ViewConfiguration.Surround.background, .blur, .clear] {
    view.surround = surround
    // Neither its name nor its size is looked at.
    let seen = ViewConfiguration(
      mirroring: .horizontal, contentMode: .fit, background: .white, surround: surround)
    let layers = try composed(Scene(size: wide, tiles: [Tile("a", view: view)])).composition.layers
    #expect(layers == [Layer(.view(input: 0, seen), in: all)])
  }
}

@Test("a tile's layer has its corners, border and opacity, and the speaking border while speaking")
func dress() throws {
  let border = Border(width: 2, color: .white)
  var tile = Tile("a", view: ViewConfiguration(contentMode: .fit), border: border, opacity: 0.5)
  var scene = Scene(size: wide, tiles: [tile], cornerRadius: 7)
  var layers = try composed(scene).composition.layers
  #expect(layers.map(\.shape) == [.rounded(7)])
  #expect(layers.map(\.border) == [border])
  #expect(layers.map(\.opacity) == [0.5])

  (tile.isSpeaking, tile.cornerRadius) = (true, 0)
  scene.tiles = [tile]
  layers = try composed(scene).composition.layers
  #expect(layers.map(\.shape) == [.rectangle])
  #expect(layers.map(\.border) == [.speaking])

  tile.opacity = 0
  scene.tiles = [tile]
  #expect(try composed(scene) == ComposedScene(composition: Composition(size: wide), inputs: []))
}

@Test("insets have the layout's corner radius unless they set their own, and the first tile has none")
func insetCorners() throws {
  let scene = Scene(
    size: wide, layout: .inset(Scene.Inset(cornerRadius: 9)),
    tiles: [Tile("a"), Tile("b"), Tile("c", cornerRadius: 3)])
  #expect(try composed(scene).composition.layers.map(\.shape) == [.rectangle, .rounded(9), .rounded(3)])
}

@Test("a scene background is a colour, gradient or blurred source, or none if off or without frames")
func backgrounds() throws {
  let all = Rectangle(all: wide)
  func background(_ background: Scene.Background, _ appearance: SourceAppearance = .live) throws
    -> ComposedScene
  {
    let scene = Scene(size: wide, tiles: [Tile("b", opacity: 0)], background: background)
    return try composed(scene, ["a": appearance, "b": .live])
  }

  #expect(try background(.color(.white)).composition.layers == [Layer(.color(.white), in: all)])
  #expect(try background(.gradient(.dusk)).composition.layers == [Layer(.gradient(.dusk), in: all)])
  let blurred = try background(.blur(source: "a"))
  #expect(blurred.inputs == [.source("a")])
  #expect(blurred.composition.layers == [Layer(.blurred(input: 0, plain, Blur(cell: 24)), in: all)])

  // Black: no frame yet; or somebody does not want to be seen.
  for hidden in [
    SourceAppearance(hasFrame: false),
    SourceAppearance(hasFrame: true, outage: Outage(.off, since: 0)),
  ] {
    #expect(try background(.blur(source: "a"), hidden).inputs.isEmpty)
    #expect(try background(.blur(source: "a"), hidden).composition.layers.isEmpty)
  }

  let lost = SourceAppearance(hasFrame: true, outage: Outage(.lost, since: 0))
  #expect(try background(.blur(source: "a"), lost).inputs == [.source("a")])
  #expect(throws: ParameterError("background", "no source 'z'")) { try background(.blur(source: "z")) }
}

@Test("a scene with an unknown source, 0 or 50 tiles, or no size is rejected")
func unknownSources() {
  #expect(throws: ParameterError("tile 2 (z)", "no source 'z'")) {
    try composed(Scene(size: wide, tiles: [Tile("a"), Tile("z")]))
  }
  #expect(throws: ParameterError("tiles", "there are 0, not 1 to 49")) { try composed(Scene(size: wide)) }
  #expect(throws: ParameterError("tiles", "there are 50, not 1 to 49")) {
    try composed(Scene(size: wide, tiles: Array(repeating: Tile("a"), count: 50)))
  }
  #expect(throws: ParameterError.self) {
    try composed(Scene(size: Size(width: 0, height: 0), tiles: [Tile("a")]))
  }
}

@Test(
  "an invalid tile is rejected with an error that names the tile and the property",
  arguments: [
    ("tile 1 (a) opacity", Tile("a", opacity: 1.5)), ("tile 1 (a) opacity", Tile("a", opacity: .nan)),
    ("tile 1 (a) radius", Tile("a", cornerRadius: -1)),
    ("tile 1 (a) border", Tile("a", border: Border(width: 0, color: .black))),
    ("tile 1 (a) border", Tile("a", border: Border(width: .infinity, color: .black))),
    ("tile 1 (a) label size", Tile("a", label: Label(.text("x"), font: Label.Font(size: 3)))),
    ("tile 1 (a) label margin", Tile("a", label: Label(.text("x"), margin: -1))),
    ("tile 1 (a) label width", Tile("a", label: Label(.text("x"), maximumWidth: 0))),
    (
      "tile 1 (a) label padding",
      Tile("a", label: Label(.text("x"), background: Label.Background(padding: .max)))
    ),
    ("tile 1 (a) replicator", Tile("a", replicator: Replicator(instanceCount: 0))),
    ("tile 1 (a) replicator", Tile("a", replicator: Replicator(instanceCount: 65))),
    ("tile 1 (a) replicator", Tile("a", replicator: Replicator(instanceCount: 3, delay: .seconds(6)))),
    ("tile 1 (a) replicator", Tile("a", replicator: Replicator(instanceCount: 2, delay: .seconds(-1)))),
    (
      "tile 1 (a) replicator transform",
      Tile("a", replicator: Replicator(instanceCount: 2, transform: .translation(x: .nan, y: 0)))
    ),
    (
      "tile 1 (a) replicator colour scale",
      Tile("a", replicator: Replicator(instanceCount: 2, colorScale: [1, -1, 1]))
    ),
  ])
func refusedTiles(key: String, tile: Tile) {
  #expect {
    try composed(Scene(size: wide, tiles: [tile]))
  } throws: { error in
    (error as? ParameterError)?.key == key
  }
}
