// All masks of a source, and the size that they are said in.

/// What is hidden of a source. Where masks overlap, the later ones are made of what the earlier ones left.
public struct PrivacyMasks: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// In order.
  public var masks: [PrivacyMask]
  /// The size of the upright source in whose pixels the masks are; nil is the source's own reference size
  /// (`SourceOptions.referenceSize`). A frame of another size, but of this shape, is masked in proportion, rounded outwards.
  public var referenceSize: Size?

  /// `masks` in pixels of a source of `referenceSize`.
  public init(_ masks: [PrivacyMask], referenceSize: Size? = nil) {
    self.masks = masks
    self.referenceSize = referenceSize
  }

  /// Masks in pixels of the source's reference size.
  public init(arrayLiteral elements: PrivacyMask...) { self.init(elements) }

  /// Nothing is hidden.
  public static let none = PrivacyMasks([])

  /// Whether nothing is hidden.
  public var isEmpty: Bool { masks.isEmpty }

  /// Refuses masks that hide nothing of a source.
  ///
  /// - Parameter size: of the upright source; both sides positive.
  /// - Throws: `WordError` of key `mask`, which names a mask that lies wholly outside, or has too few points.
  public func check(in size: Size) throws(WordError) {
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
