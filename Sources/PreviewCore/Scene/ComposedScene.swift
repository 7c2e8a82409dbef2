// A scene turned into layers, and the frames that they show.

/// A still picture, such as an avatar. Compared by identity, so that its texture is reused.
public final class StillImage: Sendable, Hashable {
  /// The picture.
  package let frame: Frame

  /// Creates an image that shows `frame`.
  public init(_ frame: Frame) { self.frame = frame }

  /// Returns whether both are the same object.
  public static func == (one: StillImage, other: StillImage) -> Bool { one === other }

  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The frame that a layer shows; the renderer's caller looks it up.
package enum FrameReference: Sendable, Hashable {
  /// The newest frame of a source that existed `delay` ago; if there is none, the oldest buffered frame.
  case source(String, delay: Duration = .zero)
  case image(StillImage)
}

package struct ComposedScene: Sendable, Hashable {
  /// The layers; the `input` of their contents is an index into `inputs`.
  package let composition: Composition
  /// The frames, without duplicates, in order of first use.
  package let inputs: [FrameReference]

  package init(composition: Composition, inputs: [FrameReference]) {
    self.composition = composition
    self.inputs = inputs
  }

  /// Returns the scene with changed views; `change` receives each view and its input's index.
  package func mapViews<Failure: Error>(
    _ change: (ViewConfiguration, Int) throws(Failure) -> ViewConfiguration
  ) throws(Failure) -> ComposedScene {
    var composition = composition
    for index in composition.layers.indices {
      switch composition.layers[index].content {
      case .view(let input, let view):
        composition.layers[index].content = .view(input: input, try change(view, input))
      case .blurred(let input, let view, let blur):
        composition.layers[index].content = .blurred(input: input, try change(view, input), blur)
      case .color, .gradient, .bitmap: break
      }
    }
    return ComposedScene(composition: composition, inputs: inputs)
  }
}

/// The area of a source: all of its layers have this shape, and one has the border.
struct LayerArea {
  let frame: Rectangle
  let shape: LayerShape
  let border: Border?
}

/// Layers, lowest first, and the frames that they show, without duplicates.
struct LayerStack {
  var layers: [Layer] = []
  private(set) var inputs: [FrameReference] = []
  private var indices: [FrameReference: Int] = [:]

  /// Returns the input index of a frame, which is added if it is new.
  mutating func input(_ reference: FrameReference) -> Int {
    if let index = indices[reference] { return index }
    indices[reference] = inputs.count
    inputs.append(reference)
    return inputs.count - 1
  }

  mutating func fill(_ area: LayerArea, with content: LayerContent, adjustment: ColorAdjustment = .none) {
    layers.append(
      Layer(content, in: area.frame, shape: area.shape, border: area.border, adjustment: adjustment))
  }

  /// Adds a bitmap at its own size.
  mutating func put(_ bitmap: Bitmap, at place: Rectangle, opacity: Double = 1) {
    layers.append(Layer(.bitmap(bitmap), in: place, opacity: opacity))
  }

  /// Adds a view of a frame.
  mutating func show(
    _ view: ViewConfiguration, of reference: FrameReference, in area: LayerArea,
    adjustment: ColorAdjustment = .none
  ) {
    let input = input(reference)
    // The name, size and labels have no effect here. Clearing them makes equal views compare equal.
    var view = view
    (view.name, view.width, view.height, view.labels) = ("main", nil, nil, [])
    fill(area, with: .view(input: input, view), adjustment: adjustment)
  }

  func composed(_ size: Size) -> ComposedScene {
    ComposedScene(composition: Composition(size: size, layers: layers), inputs: inputs)
  }
}

extension Rectangle {
  /// Returns positions for items of these sizes in a centred vertical stack inside this rectangle. Items that
  /// do not fit are dropped from the end.
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
