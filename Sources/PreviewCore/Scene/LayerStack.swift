// Layers on their way to a composition, and the frames that they want.

/// Where a source is drawn: all layers of it have this shape, one has the border.
struct LayerArea {
  let frame: Rectangle
  let shape: LayerShape
  let border: Border?
}

/// Layers, bottom first, and the frames that they show, each once.
struct LayerStack {
  var layers: [Layer] = []
  private(set) var inputs: [FrameReference] = []
  private var indices: [FrameReference: Int] = [:]

  /// The number by which layers call a frame.
  mutating func input(_ reference: FrameReference) -> Int {
    if let index = indices[reference] { return index }
    indices[reference] = inputs.count
    inputs.append(reference)
    return inputs.count - 1
  }

  /// All over an area.
  mutating func fill(_ area: LayerArea, with content: LayerContent, adjustment: ColorAdjustment = .none) {
    layers.append(
      Layer(content, in: area.frame, shape: area.shape, border: area.border, adjustment: adjustment))
  }

  /// A bitmap, pixel on pixel.
  mutating func put(_ bitmap: Bitmap, at place: Rectangle, opacity: Double = 1) {
    layers.append(Layer(.bitmap(bitmap), in: place, opacity: opacity))
  }

  /// A view of a frame.
  mutating func show(
    _ view: ViewConfiguration, of reference: FrameReference, in area: LayerArea,
    adjustment: ColorAdjustment = .none
  ) {
    let input = input(reference)
    // Names and sizes say nothing here; without them, equal views are equal.
    var view = view
    (view.name, view.width, view.height) = ("main", nil, nil)
    fill(area, with: .view(input: input, view), adjustment: adjustment)
  }

  /// What it came to.
  func composed(_ size: Size) -> ComposedScene {
    ComposedScene(composition: Composition(size: size, layers: layers), inputs: inputs)
  }
}

extension Rectangle {
  /// Where things of these sizes stand below one another, each centred, and all of them in the middle of this
  /// rectangle. Those at the end that are too much are left out.
  func column(_ sizes: [Size], spacing: Int) -> [Rectangle] {
    var sizes = sizes[...]
    func height(_ sizes: ArraySlice<Size>) -> Int {
      sizes.reduce(-spacing) { $0 + $1.height + spacing }
    }
    while height(sizes) > self.height { sizes.removeLast() }
    var top = y + (self.height - height(sizes)) / 2
    return sizes.map { size in
      defer { top += size.height + spacing }
      return Rectangle(x: x + (width - size.width) >> 1, y: top, width: size.width, height: size.height)
    }
  }
}
