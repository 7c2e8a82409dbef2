// The replicator: instance n is moved, coloured and delayed n times.
import PreviewCore
import Testing

private let size = Size(width: 100, height: 60)

private func composed(_ tile: Tile) throws(ParameterError) -> ComposedScene {
  try Scene(size: size, tiles: [tile]).composed(["a": .live], at: .testing, text: nil)
}

@Test("a replicator with one instance equals the plain tile")
func oneInstance() throws {
  let turned = Replicator(
    instanceCount: 1, transform: .scale(x: 2, y: 2), opacityOffset: -0.5, delay: .seconds(1))
  #expect(try composed(Tile("a", replicator: turned)) == composed(Tile("a")))
}

@Test("each instance adds one more step of transform, colour, opacity and delay")
func steps() throws {
  let replicator = Replicator(
    instanceCount: 3, transform: .translation(x: 5, y: -3), colorOffset: [10, 0, -10],
    colorScale: [1, 0.5, 1],
    opacityOffset: -0.25, delay: .milliseconds(100))

  let scene = try composed(Tile("a", replicator: replicator))

  #expect(
    scene.inputs == [
      .source("a"), .source("a", delay: .milliseconds(100)), .source("a", delay: .milliseconds(200)),
    ])
  let layers = scene.composition.layers
  #expect(layers.map(\.content) == (0..<3).map { .view(input: $0, ViewConfiguration()) })
  #expect(layers.map(\.transform) == [.identity, .translation(x: 5, y: -3), .translation(x: 10, y: -6)])
  #expect(layers.map(\.opacity) == [1, 0.75, 0.5])
  #expect(
    layers.map(\.adjustment) == [
      .none, ColorAdjustment(scale: [1, 0.5, 1], offset: [10, 0, -10]),
      ColorAdjustment(scale: [1, 0.25, 1], offset: [20, 0, -20]),
    ])
}

@Test("an instance's colour offset is scaled by the steps that follow it")
func offsetsAndScales() throws {
  let replicator = Replicator(instanceCount: 3, colorOffset: [8, 8, 8], colorScale: [0.5, 1, 2])
  // x/2 + 8, halved again + 8: x/4 + 12. x + 16. 2 (2x + 8) + 8: 4x + 24.
  #expect(
    try composed(Tile("a", replicator: replicator)).composition.layers.last?.adjustment
      == ColorAdjustment(scale: [0.25, 1, 4], offset: [12, 16, 24]))
}

@Test("invisible instances are omitted, with their frames, and opacity is at most 1")
func unseenInstances() throws {
  let fading = Replicator(instanceCount: 5, opacityOffset: -0.5, delay: .seconds(1))
  let scene = try composed(Tile("a", replicator: fading))
  #expect(scene.inputs == [.source("a"), .source("a", delay: .seconds(1))])
  #expect(scene.composition.layers.map(\.opacity) == [1, 0.5])

  let growing = Replicator(instanceCount: 4, opacityOffset: 0.4)
  #expect(
    try composed(Tile("a", opacity: 0.3, replicator: growing)).composition.layers.map(\.opacity) == [
      0.3, 0.7, 1, 1,
    ])
}

@Test("all layers of a replicated tile rotate about the tile's centre")
func aboutTheTile() throws {
  // The avatar's circle does not lie in the middle where a caption stands below it.
  let avatar = Fallback(always: .avatar(try .pixel()))
  let turn = AffineTransform(a: 0, b: 1, c: -1, d: 0, tx: 0, ty: 0)
  let tile = Tile("a", replicator: Replicator(instanceCount: 2, transform: turn), fallback: avatar)
  let lost = SourceAppearance(hasFrame: false, outage: Outage(.lost, since: 0))

  let layers = try Scene(size: size, tiles: [tile]).composed(["a": lost], at: .testing, text: BoxText())
    .composition.layers

  #expect(layers.count == 6)
  for (layer, turned) in zip(layers[..<3], layers[3...]) {
    #expect(layer.frame == turned.frame && layer.content == turned.content)
    // Where the layer's middle goes, from the picture's middle (50, 30): a quarter clockwise.
    let middle: SIMD2 = [
      Double(layer.frame.x) + Double(layer.frame.width) / 2,
      Double(layer.frame.y) + Double(layer.frame.height) / 2,
    ]
    let from = middle - [50, 30]
    let expected: SIMD2<Double> = [50 - from.y, 30 + from.x]
    #expect(middle + turned.transform([0, 0]) == expected)
    #expect(turned.transform([1, 0]) - turned.transform([0, 0]) == [0, 1])
  }
  #expect(layers[1].frame.y + layers[1].frame.height / 2 != 30)
}

@Test("a label is not replicated")
func labelOnce() throws {
  let text = BoxText()
  let tile = Tile("a", label: Label(.text("x"), margin: 0), replicator: Replicator(instanceCount: 4))
  let layers = try Scene(size: size, tiles: [tile]).composed(["a": .live], at: .testing, text: text)
    .composition.layers
  #expect(layers.count == 5)
  #expect(layers.last?.content == text.only("x").map { .bitmap($0) })
}
