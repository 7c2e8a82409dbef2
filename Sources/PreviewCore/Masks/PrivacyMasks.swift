// All masks of one source, and the size that they are given in.

/// The masks of a source, applied in order: where two overlap, the later works on the result of the earlier.
public struct PrivacyMasks: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The masks, in order of application.
  public var masks: [PrivacyMask]
  /// The size of the upright source in whose pixels the masks are given; nil is `SourceOptions.referenceSize`. On
  /// frames of another size with the same aspect ratio, masks scale in proportion and are rounded outwards.
  public var referenceSize: Size?

  /// Creates masks given in pixels of a source of `referenceSize`.
  public init(_ masks: [PrivacyMask], referenceSize: Size? = nil) {
    self.masks = masks
    self.referenceSize = referenceSize
  }

  /// Creates masks given in pixels of the source's reference size.
  public init(arrayLiteral elements: PrivacyMask...) { self.init(elements) }

  /// No masks.
  package static let none = PrivacyMasks([])

  /// Whether there are no masks.
  package var isEmpty: Bool { masks.isEmpty }

  /// Checks that each mask hides something of a source.
  ///
  /// - Parameter size: the upright source's size; both sides positive.
  /// - Throws: `WordError` with key `mask`, naming the first mask that lies wholly outside or has fewer than three
  ///   points.
  package func check(in size: Size) throws(WordError) {
    let format = FrameFormat(.grey, size, color: .jfif)
    for mask in masks {
      if case .polygon(let points) = mask.shape, points.count < 3 {
        throw WordError("mask", "'\(mask)': a polygon has three points or more")
      }
      guard !MaskRegion(mask.shape, said: size, in: format).spans.isEmpty else {
        throw WordError("mask", "'\(mask)' lies outside the \(size) picture")
      }
    }
  }
}
