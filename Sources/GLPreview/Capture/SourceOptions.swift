// What the user may say about a source beside its name.
public import PreviewCore

/// How a source is to be read.
public struct SourceOptions: Sendable, Hashable {
  /// The samples' layout, for raw files only: bytes can't tell it. Given, whatever is there is read as raw.
  public var inputFormat: PixelFormat?
  /// The frames' size, for raw files and patterns.
  public var inputSize: Size?
  /// Frames in a second where the source does not say, 0.001...1000; nil takes 30.
  public var framesPerSecond: Double?
  /// What is larger is refused before memory is taken for it. 100 megapixels unless told.
  public var maximumPixels: Int
  /// What the user knows better about the colours than the source.
  public var color: ColorOverride
  /// How large JPEGs are decoded, each by itself: a stream may change its size. In full unless told.
  public var decoding: Decoding

  /// Where memory for frames comes from; nil lets a source have a pool of its own. Stills and patterns take none.
  public var memory: FramePool?

  /// Nothing is overridden, and what is not told is found out.
  public init(
    inputFormat: PixelFormat? = nil, inputSize: Size? = nil, framesPerSecond: Double? = nil,
    maximumPixels: Int = 100_000_000, color: ColorOverride = ColorOverride(),
    decoding: Decoding = .exact
  ) {
    self.inputFormat = inputFormat
    self.inputSize = inputSize
    self.framesPerSecond = framesPerSecond
    self.maximumPixels = maximumPixels
    self.color = color
    self.decoding = decoding
  }
}
