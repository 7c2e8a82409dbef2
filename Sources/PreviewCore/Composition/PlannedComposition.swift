// A composition as it is to be drawn: every view planned, every place in whole pixels.

/// What is drawn on one another.
public struct PlannedComposition: Sendable, Hashable {
  /// In pixels.
  public let size: Size
  /// Bottom first; those that can't be seen are left out.
  public let layers: [PlannedLayer]

  /// A composition.
  public init(size: Size, layers: [PlannedLayer]) {
    self.size = size
    self.layers = layers
  }
}

/// One layer.
public struct PlannedLayer: Sendable, Hashable {
  /// What is seen.
  public let content: PlannedContent
  /// The pixels of the composition that it may touch, all inside it.
  public let bounds: Rectangle
  /// The layer's own size, in its own pixels.
  public let size: Size
  /// From positions in the composition to positions in the layer; both from the top left corner, pixel k is k...k+1.
  public let placement: LayerPlacement
  /// Of the corners, in the layer's pixels.
  public let cornerRadius: Double
  /// The part of the layer that is cut to the shape, in its own pixels: all of it, or the square around a circle.
  public let shape: Rectangle
  /// Along the inside of the shape's edge.
  public let border: Border?
  /// 0...1.
  public let opacity: Double
  /// Of the content.
  public let adjustment: ColorAdjustment
}

/// Where a layer's pixels lie.
public enum LayerPlacement: Sendable, Hashable {
  /// Pixel on pixel: the layer's first pixel is at (`x`, `y`), which may be negative.
  case aligned(x: Int, y: Int)
  /// By this transform from the composition to the layer, bilinear between the layer's pixels.
  case transformed(AffineTransform)
}

/// What a layer shows.
public enum PlannedContent: Sendable, Hashable {
  /// One colour.
  case color(RGBColor)
  /// A gradient over the layer.
  case gradient(LinearGradient)
  /// An `rgba` picture of frame `input`, of the layer's size.
  case view(input: Int, PlannedView)
  /// An `rgba` picture of frame `input`, to be drawn larger, smoothly.
  case blurred(input: Int, PlannedView)
  /// A bitmap of the layer's size.
  case bitmap(Bitmap)
}

/// What is to be drawn of several frames at once.
public struct ScenePlan: Sendable, Hashable {
  /// Of the frames that it is for, in order; nil for those that nothing reads.
  public let sources: [FrameFormat?]
  /// The picture: its `composition` is what is drawn, its passes make the picture's planes of that.
  public let view: PlannedView
}
