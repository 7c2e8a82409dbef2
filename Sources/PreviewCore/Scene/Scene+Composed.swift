// Turns a scene into layers: the background, the tiles from lowest to highest, then the labels.

extension Scene {
  /// Returns the scene's layers at a given time, and the frames that they show. `sources` are the states of
  /// the tiles' sources, by name. Without `text`, no text is drawn.
  ///
  /// - Throws: `ParameterError` if the scene is invalid or a source does not exist.
  package func composed(
    _ sources: [String: SourceAppearance], at time: WallClockTime, text: (any TextRenderer)?
  ) throws(ParameterError) -> ComposedScene {
    let rectangles = try layout.rectangles(for: tiles, in: size, gap: gap, tileAspect: tileAspect)
    try check()
    var stack = LayerStack()
    try drawBackground(sources, into: &stack)
    for index in tiles.indices.sorted(by: { (tiles[$0].zIndex, $0) < (tiles[$1].zIndex, $1) }) {
      let tile = tiles[index]
      guard let appearance = sources[tile.source] else {
        throw ParameterError(tile.key(at: index), "no source '\(tile.source)'")
      }
      let area = LayerArea(
        frame: rectangles[index],
        shape: .rounded(tile.cornerRadius ?? layout.cornerRadius(of: index) ?? cornerRadius),
        border: tile.isSpeaking ? speakingBorder : tile.border)
      TileDrawing(tile: tile, area: area, appearance: appearance, time: time, text: text).draw(into: &stack)
    }
    for label in labels {
      stack.layers += label.layers(in: Rectangle(all: size), at: time, by: text)
    }
    return stack.composed(size)
  }

  private func drawBackground(_ sources: [String: SourceAppearance], into stack: inout LayerStack)
    throws(ParameterError)
  {
    let area = LayerArea(frame: Rectangle(all: size), shape: .rectangle, border: nil)
    switch background {
    // Black is what an empty area shows anyway.
    case .color(.black): break
    case .color(let color): stack.fill(area, with: .color(color))
    case .gradient(let gradient): stack.fill(area, with: .gradient(gradient))
    case .blur(let source):
      guard let appearance = sources[source] else {
        throw ParameterError("background", "no source '\(source)'")
      }
      // A camera that is switched off must not be visible, not even blurred.
      guard appearance.hasFrame, appearance.outage?.state != .off else { return }
      stack.fill(area, with: .blurred(input: stack.input(.source(source)), ViewConfiguration(), Blur()))
    }
  }
}

extension Scene.Layout {
  /// Returns the radius for tiles without their own; nil if the layout has none.
  fileprivate func cornerRadius(of index: Int) -> Double? {
    if case .inset(let inset) = self, index > 0 { inset.cornerRadius } else { nil }
  }
}

/// A tile and everything that it depends on.
private struct TileDrawing {
  let tile: Tile
  let area: LayerArea
  let appearance: SourceAppearance
  let time: WallClockTime
  let text: (any TextRenderer)?

  func draw(into stack: inout LayerStack) {
    let replicator = tile.replicator ?? Replicator(instanceCount: 1)
    let step = ColorAdjustment(scale: replicator.colorScale, offset: replicator.colorOffset)
    var (transform, adjustment) = (AffineTransform.identity, ColorAdjustment.none)
    for index in 0..<replicator.instanceCount {
      defer {
        transform = transform.followed(by: replicator.transform)
        adjustment = adjustment.followed(by: step)
      }
      let opacity = min(max(tile.opacity + replicator.opacityOffset * Double(index), 0), 1)
      guard opacity > 0 else { continue }
      let first = stack.layers.count
      drawPicture(of: .source(tile.source, delay: replicator.delay * index), into: &stack)
      for position in first..<stack.layers.count {
        var layer = stack.layers[position].transformed(by: transform, about: area.frame.center)
        layer.adjustment = layer.adjustment.followed(by: adjustment)
        layer.opacity *= opacity
        stack.layers[position] = layer
      }
    }
    let captured = appearance.capturedAt.map { time.at($0) } ?? time
    for label in tile.labels {
      stack.layers += label.layers(in: area.frame, at: captured, opacity: tile.opacity, by: text)
    }
  }

  private func drawPicture(of reference: FrameReference, into stack: inout LayerStack) {
    guard let outage else {
      return stack.show(tile.view, of: reference, in: area)
    }
    let fallback = tile.fallback ?? appearance.pictures
    FallbackDrawing(
      picture: fallback.picture(for: outage.state, hasFrame: appearance.hasFrame), outage: outage,
      lastFrame: reference, view: tile.view, area: area, time: time, text: text
    ).draw(into: &stack)
  }

  /// Nil while the source delivers frames.
  private var outage: Outage? {
    appearance.outage
      ?? (appearance.hasFrame ? nil : Outage(.opening, since: time.secondsSince1970))
  }
}

extension Layer {
  /// Returns the layer with a further transform about `center`, instead of about the layer's own centre.
  fileprivate func transformed(by further: AffineTransform, about center: SIMD2<Double>) -> Layer {
    guard further != .identity else { return self }
    let own = frame.center - center
    var layer = self
    layer.transform =
      transform.followed(by: .translation(x: own.x, y: own.y)).followed(by: further)
      .followed(by: .translation(x: -own.x, y: -own.y))
    return layer
  }
}

extension Rectangle {
  fileprivate var center: SIMD2<Double> {
    [Double(x) + Double(width) / 2, Double(y) + Double(height) / 2]
  }
}
