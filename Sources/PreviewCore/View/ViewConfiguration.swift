// What somebody wants to see of a source: the values behind `--view`, a configuration file and a snapshot URL.

/// In which light samples are mixed.
public enum FilteringLight: Sendable, Hashable {
  /// As they are encoded, as nearly all software does.
  case encoded
  /// In linear light (IEC 61966-2-1), as lenses do: fine bright detail keeps its brightness.
  case linear
}

/// What lies around a picture that `fit` leaves room beside.
public enum Surround: Sendable, Hashable {
  /// The view's background.
  case background
  /// Nothing, in a composition: what lies below is seen. A picture of its own has its background there.
  case clear
  /// The picture itself, which fills the target, out of focus.
  case blur
}

/// One view of a source.
///
/// The order is: the source upright, then cropped, rotated, mirrored, scaled and placed.
public struct ViewConfiguration: Sendable, Hashable {
  /// By which outputs and URLs name it.
  public var name: String
  /// In pixels of the upright source; nil is all of it.
  public var crop: Rectangle?
  /// Clockwise, after cropping.
  public var rotation: Rotation
  /// After rotation.
  public var mirroring: Mirroring
  /// Of the target, in pixels; nil follows from the height, or from the crop.
  public var width: Int?
  /// Of the target, in pixels; nil follows from the width, or from the crop.
  public var height: Int?
  /// What to do where crop and target differ in shape.
  public var contentMode: ContentMode
  /// What fills the rest of a fitted target, and lies behind a source with transparency.
  public var background: RGBColor
  /// What fills the rest of a fitted target instead, if it is not that.
  public var surround: Surround
  /// How samples are made.
  public var filter: Filter
  /// In which light.
  public var light: FilteringLight

  /// All of the source as it is, unless said otherwise.
  public init(
    name: String = "main", crop: Rectangle? = nil, rotation: Rotation = .none, mirroring: Mirroring = .none,
    width: Int? = nil, height: Int? = nil, contentMode: ContentMode = .fill, background: RGBColor = .black,
    surround: Surround = .background, filter: Filter = .auto, light: FilteringLight = .encoded
  ) {
    self.name = name
    self.crop = crop
    self.rotation = rotation
    self.mirroring = mirroring
    self.width = width
    self.height = height
    self.contentMode = contentMode
    self.background = background
    self.surround = surround
    self.filter = filter
    self.light = light
  }
}

extension ViewConfiguration {
  /// The same view of a source that changed its size from `reference`, in whose pixels the crop was said. Its edges are
  /// rounded inwards to whole pixels: it shows no pixel that the crop does not hold wholly, unless it would show none. Sizes
  /// are in pixels upright, both sides positive.
  public func rescaled(from reference: Size, to size: Size) -> ViewConfiguration {
    guard let crop, size != reference else { return self }
    func span(_ start: Int, _ length: Int, _ old: Int, _ new: Int) -> (start: Int, length: Int) {
      let (first, end) = ((start * new + old - 1) / old, (start + length) * new / old)
      // At least a pixel, within the picture.
      let start = min(first, new - 1)
      return (start, max(end, start + 1) - start)
    }
    let (x, width) = span(crop.x, crop.width, reference.width, size.width)
    let (y, height) = span(crop.y, crop.height, reference.height, size.height)
    var view = self
    view.crop = Rectangle(x: x, y: y, width: width, height: height)
    return view
  }
}
