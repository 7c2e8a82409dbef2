// The settings of a view: which part of a source it shows, and how. `--view`, configuration files and
// snapshot URLs set them.

/// A resampling filter, applied separately to each axis and plane.
public enum Filter: String, Sendable, Hashable, CaseIterable {
  /// `area` along an axis that shrinks or keeps its size, `bilinear` along one that grows.
  case auto
  /// The sample whose span contains the centre.
  case nearest
  /// Interpolates the two nearest samples along each axis, without antialiasing.
  case bilinear
  /// The mean of the area that a target pixel covers, with partly covered edge samples weighted; bilinear
  /// along an axis that grows.
  case area
  /// The Catmull-Rom spline (Keys 1981, a = -1/2), widened along an axis that shrinks.
  case bicubic
  /// The cubic of Mitchell and Netravali (1988, B = C = 1/3), widened along an axis that shrinks. It rings
  /// less than `bicubic` and `lanczos`, and is softer: it blurs slightly even at 1:1.
  case mitchell
  /// Lanczos with three lobes, widened along an axis that shrinks.
  case lanczos

  /// Whether samples are interpolated as encoded or in linear light.
  public enum Light: Sendable, Hashable {
    /// As encoded, like nearly all software.
    case encoded
    /// In linear light (IEC 61966-2-1), like a lens: fine bright detail keeps its brightness.
    case linear
  }
}

/// One view of a source.
///
/// The steps are applied in this order: make the source upright, crop, flatten (lens, corners or `angle`), rotate,
/// mirror, scale, place, draw labels.
public struct ViewConfiguration: Sendable, Hashable {
  /// The filling of the bars beside a fitted picture.
  public enum Surround: Sendable, Hashable {
    /// The view's background.
    case background
    /// Nothing: in a composition, the layers below show through. A picture of its own has the view's
    /// background.
    case clear
    /// The picture itself, blurred, filling the target.
    case blur
  }

  /// The name that outputs and URLs use.
  public var name: String
  /// The visible part, in pixels of the upright source at its reference size; nil is the whole source.
  public var crop: Rectangle?
  /// The clockwise rotation, after cropping.
  public var rotation: Rotation
  /// The reflection, after rotation.
  public var mirroring: Mirroring
  /// The width of the target, in pixels; nil derives it from the height or the crop.
  public var width: Int?
  /// The height of the target, in pixels; nil derives it from the width or the crop.
  public var height: Int?
  /// How to resolve different aspect ratios of crop and target.
  public var contentMode: ContentMode
  /// The colour of the bars of a fitted target, and behind a transparent source.
  public var background: RGBColor
  /// The filling of the bars of a fitted target. Default: the background.
  public var surround: Surround
  /// The resampling filter.
  public var filter: Filter
  /// The light in which samples are interpolated.
  public var light: Filter.Light
  /// Labels over the picture, lowest first. Times are those of the frame's capture. Default: none.
  public var labels: [Label]
  /// The lens that `projection` needs; nil is the camera's, if it has one.
  public var lens: Lens?
  /// The direction and shape of the picture, drawn as another camera in the lens's place would see it. Nil shows
  /// the picture as the lens projects it.
  public var projection: Projection?
  /// The degrees from -45 to 45 by which the crop is rotated clockwise about its centre, beyond `rotation`. The
  /// modes `fill` and `stretch` show the largest part of the crop's shape inside it, `fit` and `inside` all of it.
  public var angle: Double
  /// The points of the source that become the picture's corners; nil is those of the crop.
  public var corners: Corners?

  /// Creates a view. The defaults show the whole source at its own size; with a `width` and a `height` of another
  /// shape, two sides are cut unless `contentMode` is `.fit`.
  public init(
    name: String = "main", crop: Rectangle? = nil, rotation: Rotation = .none, mirroring: Mirroring = .none,
    width: Int? = nil, height: Int? = nil, contentMode: ContentMode = .fill, background: RGBColor = .black,
    surround: Surround = .background, filter: Filter = .auto, light: Filter.Light = .encoded,
    labels: [Label] = [], lens: Lens? = nil, projection: Projection? = nil, angle: Double = 0,
    corners: Corners? = nil
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
    self.labels = labels
    self.lens = lens
    self.projection = projection
    self.angle = angle
    self.corners = corners
  }
}

extension ViewConfiguration {
  /// Whether it shows certain positions of the source, given at its reference size: it is cropped or warped.
  package var isCropped: Bool { crop != nil || isWarped }

  /// Whether it shows an upright source unchanged: all of it, at its own size.
  package var isWhole: Bool {
    // Mitchell's filter blurs at 1:1 too.
    crop == nil && !isWarped && rotation == .none && mirroring == .none && width == nil && height == nil
      && filter != .mitchell && labels.isEmpty
  }

  /// Returns the part of an upright source of `size` that the view shows.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source.
  package func visiblePart(of size: Size) throws(ParameterError) -> Rectangle {
    let part = crop ?? Rectangle(all: size)
    guard part.isInside(size) else {
      throw ParameterError(
        "crop", "\(part) is not inside the picture, which has \(size) pixels (view '\(name)')")
    }
    return part
  }

  /// Returns the view for a source whose upright size changed from `reference` to `size`. The crop was given
  /// at `reference`; its edges are rounded inwards to whole pixels, so it shows only pixels wholly inside the
  /// old crop, but always at least one. Corners are rounded likewise, as far as their shape allows. A lens in pixels
  /// gets `reference` as its size. Sizes have positive sides.
  package func rescaled(from reference: Size, to size: Size) -> ViewConfiguration {
    guard size != reference else { return self }
    var view = self
    view.crop = rescaledCrop(from: reference, to: size)
    view.corners = corners?.rescaled(from: reference, to: size)
    if let lens, lens.size == nil, lens.hasPixels { view.lens?.size = reference }
    return view
  }

  private func rescaledCrop(from reference: Size, to size: Size) -> Rectangle? {
    guard let crop else { return nil }
    func span(_ start: Int, _ length: Int, _ old: Int, _ new: Int) -> (start: Int, length: Int) {
      let (first, end) = ((start * new + old - 1) / old, (start + length) * new / old)
      // At least a pixel, within the picture.
      let start = min(first, new - 1)
      return (start, max(end, start + 1) - start)
    }
    let (x, width) = span(crop.x, crop.width, reference.width, size.width)
    let (y, height) = span(crop.y, crop.height, reference.height, size.height)
    return Rectangle(x: x, y: y, width: width, height: height)
  }
}
