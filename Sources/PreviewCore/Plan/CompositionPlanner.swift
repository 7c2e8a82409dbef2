// Plans compositions: from layers to the passes that draw each of them. Works on values only and reads no
// pixels.

extension RenderPlanner {
  /// Plans a picture of several frames.
  ///
  /// - Parameters:
  ///   - formats: the frame formats, indexed by `input`; nil if there is no such frame.
  ///   - composition: the layers to draw.
  ///   - name: the picture's name.
  ///   - format: the sample format of the picture.
  ///   - coding: how the picture will be coded, if that is known.
  /// - Returns: the plan. Invisible layers are omitted, and frames that no remaining layer reads are not
  ///   among its sources.
  /// - Throws: `ParameterError`, which names the layer (counted from 0) that can't be drawn, or the size that is
  ///   too large.
  package func plan(
    _ formats: [Frame.Format?], _ composition: Composition, name: String = "scene", as format: Picture.Format,
    coding: PictureCoding? = nil
  ) throws(ParameterError) -> ScenePlan {
    let size = composition.size
    guard size.width > 0, size.height > 0 else {
      throw ParameterError("size", "\(size) has no pixels (\(name))")
    }
    if let refusal = refusal(of: size) { throw ParameterError("size", "\(refusal) (\(name))") }
    var layers: [PlannedLayer] = []
    for (index, layer) in composition.layers.enumerated() {
      do throws(ParameterError) {
        layers += try LayerPlanner(planner: self, formats: formats, target: size).planned(layer)
      } catch {
        throw ParameterError("layer \(index)", "\(error) (\(name))")
      }
    }
    let planned = PlannedComposition(size: size, layers: layers)
    let read = Set(layers.compactMap(\.content.input))
    let sources = formats.enumerated().map { read.contains($0) ? $1 : nil }
    return ScenePlan(
      sources: sources, view: coded(composed(planned, named: name, as: format), coding),
      drawings: sources.enumerated().map { index, source in
        source.flatMap { drawing(of: planned.views(of: index), $0) }
      })
  }
}

private struct LayerPlanner {
  let planner: RenderPlanner
  let formats: [Frame.Format?]
  let target: Size

  /// Returns the planned layers of one layer: none if it is invisible, two if something is drawn around a
  /// view.
  func planned(_ layer: Layer) throws(ParameterError) -> [PlannedLayer] {
    try layer.check()
    guard let site = LayerSite(layer), layer.opacity > 0, !bounds(of: site, site.whole).isEmpty else {
      return []
    }
    if let refusal = planner.refusal(of: site.size) { throw ParameterError("frame", refusal) }
    switch layer.content {
    case .color(let color): return [planned(layer, .color(color), site)]
    case .gradient(let gradient): return [planned(layer, .gradient(gradient), site)]
    case .bitmap(let bitmap):
      guard bitmap.size == layer.frame.size else {
        throw ParameterError("bitmap", "\(bitmap.size) is not the layer's size of \(layer.frame.size)")
      }
      return [planned(layer, .bitmap(bitmap), site)]
    case .view(let input, let view): return try planned(layer, view, of: input, site)
    case .blurred(let input, let view, let blur):
      return [planned(layer, try blurred(view, of: input, blur, layer, site), site)]
    }
  }

  private func planned(
    _ layer: Layer, _ view: ViewConfiguration, of input: Int, _ site: LayerSite
  ) throws(ParameterError) -> [PlannedLayer] {
    let format = try format(input)
    let shown = try planner.shown(view.sized(site.size), for: format)
    // `inside` shrinks its target. Both its picture and that of `fit` are centred in the layer.
    let inner = shown.placement.placed.size
    let corner = (x: (site.size.width - inner.width) / 2, y: (site.size.height - inner.height) / 2)
    let content = PlannedContent.view(
      input: input,
      planner.planned(view.tile, of: format, shown.placed(by: shown.placement.withoutBars), as: .rgba))
    guard inner != site.size else { return [planned(layer, content, site)] }
    let placed = Rectangle(x: corner.x, y: corner.y, width: inner.width, height: inner.height)
    let around: PlannedContent
    switch view.surround {
    case .clear: return [planned(layer, content, site, placed: placed)].filter { !$0.bounds.isEmpty }
    case .background: around = .color(view.background)
    case .blur: around = try blurred(view, of: input, .surround(of: layer.frame.size), layer, site)
    }
    let (behind, before) = (
      planned(layer, around, site), planned(layer, content, site, placed: placed, cut: site.whole)
    )
    return [behind, before].filter { !$0.bounds.isEmpty }
  }

  private func blurred(
    _ view: ViewConfiguration, of input: Int, _ blur: Blur, _ layer: Layer, _ site: LayerSite
  ) throws(ParameterError) -> PlannedContent {
    func samples(_ length: Int, _ drawn: Int) -> Int { min((length + blur.cell - 1) / blur.cell, drawn) }
    let size = Size(
      width: samples(layer.frame.width, site.size.width),
      height: samples(layer.frame.height, site.size.height))
    var filling = view.tile
    (filling.contentMode, filling.filter) = (.fill, .area)
    let format = try format(input)
    let shown = try planner.shown(filling.sized(site.size), for: format)
    return .blurred(
      input: input,
      planner.planned(filling, of: format, shown.placed(by: shown.placement.sampled(size)), as: .rgba))
  }

  private func format(_ input: Int) throws(ParameterError) -> Frame.Format {
    guard formats.indices.contains(input), let format = formats[input] else {
      throw ParameterError("input", "there is no frame \(input)")
    }
    return format
  }

  /// Plans the part `placed` of a site, clipped to the layer's shape there, or in `cut`.
  private func planned(
    _ layer: Layer, _ content: PlannedContent, _ site: LayerSite, placed: Rectangle? = nil,
    cut: Rectangle? = nil
  ) -> PlannedLayer {
    let placed = placed ?? site.whole
    let (shape, radius) = layer.shape.cut(cut ?? placed, scale: site.scale)
    return PlannedLayer(
      content: content, bounds: bounds(of: site, placed), size: placed.size,
      placement: site.placement(of: placed),
      cornerRadius: radius,
      shape: Rectangle(
        x: shape.x - placed.x, y: shape.y - placed.y, width: shape.width, height: shape.height),
      border: layer.border.map { Border(width: $0.width * site.scale, color: $0.color) },
      opacity: layer.opacity, adjustment: layer.adjustment)
  }

  /// Returns the pixels of the picture that a part of a site may touch.
  private func bounds(of site: LayerSite, _ part: Rectangle) -> Rectangle {
    site.bounds(of: part).intersection(Rectangle(all: target))
  }
}

/// The position and size at which a layer is drawn. Its content is made at this size, so that it need not be
/// scaled.
private struct LayerSite {
  /// The drawn size, in the layer's own pixels.
  let size: Size
  /// The layer's own pixels per pixel of its frame.
  let scale: Double
  /// The transform from the layer's own pixels to the composition.
  private let forward: AffineTransform
  private let backward: AffineTransform

  /// Creates the site; nil if the layer is scaled to nothing.
  init?(_ layer: Layer) {
    let (frame, transform) = (layer.frame, layer.transform)
    guard transform.inverse != nil else { return nil }
    let growth = abs(transform.determinant).squareRoot()
    let isMade = if case .bitmap = layer.content { true } else { false }
    scale = isMade || abs(growth - 1) < 1e-9 ? 1 : growth
    let factor = scale
    // Sides beyond any limit are refused later.
    func side(_ length: Int) -> Int { max(1, Int(min((Double(length) * factor).rounded(), 1e9))) }
    size = factor == 1 ? frame.size : Size(width: side(frame.width), height: side(frame.height))
    let half = SIMD2(Double(frame.width), Double(frame.height)) / 2
    let toFrame = AffineTransform.scale(
      x: Double(frame.width) / Double(size.width), y: Double(frame.height) / Double(size.height))
    forward =
      toFrame
      .followed(by: .translation(x: -half.x, y: -half.y))
      .followed(by: transform)
      .followed(by: .translation(x: Double(frame.x) + half.x, y: Double(frame.y) + half.y))
    guard let inverse = forward.inverse else { return nil }
    backward = inverse
  }

  var whole: Rectangle { Rectangle(all: size) }

  /// Returns the map from the composition to a part of the layer.
  func placement(of part: Rectangle) -> LayerPlacement {
    if let (x, y) = shift { return .aligned(x: x + part.x, y: y + part.y) }
    return .transformed(backward.followed(by: .translation(x: -Double(part.x), y: -Double(part.y))))
  }

  /// Returns the pixels, inside or outside the composition, that a part of the layer may touch.
  func bounds(of part: Rectangle) -> Rectangle {
    if let (x, y) = shift {
      return Rectangle(x: x + part.x, y: y + part.y, width: part.width, height: part.height)
    }
    // Edges extend half a pixel to either side.
    let (left, top) = (Double(part.x) - 0.5, Double(part.y) - 0.5)
    let (right, bottom) = (left + Double(part.width) + 1, top + Double(part.height) + 1)
    let corners = [[left, top], [right, top], [left, bottom], [right, bottom]].map { forward(SIMD2($0)) }
    let (columns, rows) = (corners.map(\.x), corners.map(\.y))
    func whole(_ position: Double?) -> Int { Int(min(max(position ?? 0, -1e9), 1e9)) }
    let (firstX, firstY) = (whole(columns.min()?.rounded(.down)), whole(rows.min()?.rounded(.down)))
    return Rectangle(
      x: firstX, y: firstY, width: whole(columns.max()?.rounded(.up)) - firstX,
      height: whole(rows.max()?.rounded(.up)) - firstY)
  }

  /// The offset, if the transform only moves by whole pixels.
  private var shift: (x: Int, y: Int)? {
    let linear = [forward.a - 1, forward.b, forward.c, forward.d - 1]
    let (x, y) = (forward.tx.rounded(), forward.ty.rounded())
    guard linear.allSatisfy({ abs($0) < 1e-9 }), max(abs(forward.tx - x), abs(forward.ty - y)) < 1e-6,
      max(abs(x), abs(y)) < 1e9
    else { return nil }
    return (Int(x), Int(y))
  }
}

extension PlannedContent {
  /// The frame that the content reads.
  fileprivate var input: Int? {
    switch self {
    case .view(let input, _), .blurred(let input, _): input
    case .color, .gradient, .bitmap: nil
    }
  }
}

extension LayerShape {
  /// Returns the rounded rectangle inside `whole` that the shape covers, and its corner radius.
  fileprivate func cut(_ whole: Rectangle, scale: Double) -> (Rectangle, radius: Double) {
    let shorter = min(whole.width, whole.height)
    switch self {
    case .rounded(let radius): return (whole, min(radius * scale, Double(shorter) / 2))
    case .circle:
      let square = Rectangle(
        x: whole.x + (whole.width - shorter) / 2, y: whole.y + (whole.height - shorter) / 2, width: shorter,
        height: shorter)
      return (square, Double(shorter) / 2)
    }
  }
}

extension ViewConfiguration {
  fileprivate func sized(_ size: Size) -> ViewConfiguration {
    var view = self
    (view.width, view.height) = (size.width, size.height)
    return view
  }

  /// The view without its name, surround and labels, so that layers that draw the same compare equal.
  fileprivate var tile: ViewConfiguration {
    var view = self
    (view.name, view.surround, view.labels) = ("tile", .background, [])
    return view
  }
}

extension Blur {
  /// Returns the blur around a fitted picture: cells of a sixteenth of the shorter side, to look alike at
  /// every size.
  static func surround(of size: Size) -> Blur { Blur(cell: min(size.width, size.height) / 16) }
}

extension Layer {
  /// Checks the layer.
  ///
  /// - Throws: `ParameterError` for values that can't be drawn.
  fileprivate func check() throws(ParameterError) {
    let farthest = 1 << 24
    guard frame.width > 0, frame.height > 0, max(frame.width, frame.height) <= Size.maximumSide,
      max(frame.x.magnitude, frame.y.magnitude) <= farthest
    else { throw ParameterError("frame", "\(frame) is not a valid frame for a layer") }
    guard (0...1).contains(opacity) else { throw ParameterError("opacity", "\(opacity) is not within 0...1") }
    if let border, !(border.width.isFinite && border.width > 0) {
      throw ParameterError("border", "\(border.width) is not a width above 0")
    }
    if case .rounded(let radius) = shape, !(radius.isFinite && radius >= 0) {
      throw ParameterError("shape", "\(radius) is not a radius of 0 or more")
    }
    if case .gradient(let gradient) = content, !gradient.angle.isFinite {
      throw ParameterError("gradient", "\(gradient.angle) is not a valid angle")
    }
    let largest = 1e6
    let numbers = (0..<3).flatMap { [adjustment.scale[$0], adjustment.offset[$0]] }
    guard numbers.allSatisfy({ abs($0) <= largest }) else {
      throw ParameterError("adjustment", "\(adjustment.scale) and \(adjustment.offset) are beyond 1000000")
    }
    let matrix = [transform.a, transform.b, transform.c, transform.d, transform.tx, transform.ty]
    guard matrix.allSatisfy({ abs($0) <= Double(farthest) }) else {
      throw ParameterError("transform", "\(matrix) has numbers beyond \(farthest)")
    }
  }
}
