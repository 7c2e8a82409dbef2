// How a picture of one shape is put into a target of another: which part of it is seen, and where it is placed.

/// What to do where the (rotated) crop and the target differ in shape.
public enum ContentMode: String, Sendable, Hashable, CaseIterable {
  /// Scaled until the target is covered, centre cropped (UIKit's scaleAspectFill, CSS's cover).
  case fill
  /// The whole picture inside the target, the rest is background (scaleAspectFit, contain).
  case fit
  /// Stretched to the target (scaleToFill, fill).
  case stretch
  /// Fits, but never enlarges, and the target shrinks to the picture: no bars.
  case inside
}

/// A length along one axis of the crop as seen, in fractions of a pixel, exactly: both numbers are over `denominator`.
package struct SourceWindow: Sendable, Hashable {
  /// From the crop's edge, times `denominator`.
  package let start: Int
  /// Times `denominator`.
  package let length: Int
  /// At least 1.
  package let denominator: Int

  /// `start / denominator` and `length / denominator`, in lowest terms: equal windows are equal values.
  package init(start: Int, length: Int, denominator: Int) {
    let divisor = greatestCommonDivisor(greatestCommonDivisor(denominator, length), start)
    self.start = start / divisor
    self.length = length / divisor
    self.denominator = denominator / divisor
  }
}

/// The result of a content mode: the size of the target, the rectangle of it that the picture takes, and the
/// window of the crop (as seen, after rotation) that is stretched over that rectangle.
package struct Placement: Sendable, Hashable {
  /// In pixels.
  package let target: Size
  /// Whole pixels inside the target.
  package let placed: Rectangle
  /// Which columns of the crop are seen.
  package let windowX: SourceWindow
  /// Which rows of the crop are seen.
  package let windowY: SourceWindow

  /// Puts a crop into a target.
  ///
  /// A size with both sides open is the crop's own; one side given keeps the aspect ratio; halves round up
  /// and no side is below 1.
  ///
  /// - Parameters:
  ///   - crop: the size of the crop as seen, after rotation.
  ///   - width: of the target, nil where it follows from the rest.
  ///   - height: of the target, nil where it follows from the rest.
  ///   - mode: what to do where the shapes differ.
  package init(of crop: Size, width: Int?, height: Int?, mode: ContentMode) {
    let wholeX = SourceWindow(start: 0, length: crop.width, denominator: 1)
    let wholeY = SourceWindow(start: 0, length: crop.height, denominator: 1)
    if mode == .inside {
      let size = Placement.fitted(
        crop,
        into: Size(
          width: min(width ?? crop.width, crop.width), height: min(height ?? crop.height, crop.height)))
      self.init(target: size, placed: Rectangle(all: size), windowX: wholeX, windowY: wholeY)
      return
    }
    let target: Size =
      switch (width, height) {
      case (nil, nil): crop
      case (let width?, nil): Size(width: width, height: scaled(crop.height, by: width, over: crop.width))
      case (nil, let height?): Size(width: scaled(crop.width, by: height, over: crop.height), height: height)
      case (let width?, let height?): Size(width: width, height: height)
      }
    switch mode {
    case .stretch, .inside:
      self.init(target: target, placed: Rectangle(all: target), windowX: wholeX, windowY: wholeY)
    case .fit:
      let size = Placement.fitted(crop, into: target)
      let placed = Rectangle(
        x: (target.width - size.width) / 2, y: (target.height - size.height) / 2,
        width: size.width, height: size.height)
      self.init(target: target, placed: placed, windowX: wholeX, windowY: wholeY)
    case .fill:
      // The side that needs the larger factor decides; of the other one the middle is seen.
      let isBoundByWidth = target.width * crop.height >= target.height * crop.width
      let windowX =
        isBoundByWidth
        ? wholeX
        : Placement.middle(
          of: crop.width, spanning: target.width, atScaleOf: target.height, over: crop.height)
      let windowY =
        !isBoundByWidth
        ? wholeY
        : Placement.middle(
          of: crop.height, spanning: target.height, atScaleOf: target.width, over: crop.width)
      self.init(target: target, placed: Rectangle(all: target), windowX: windowX, windowY: windowY)
    }
  }

  /// Whether anything of the target is left free.
  var hasBars: Bool { placed != Rectangle(all: target) }

  /// What is placed, alone.
  var withoutBars: Placement { sampled(placed.size) }

  /// The same part of the crop, stretched over a target of another size.
  func sampled(_ size: Size) -> Placement {
    Placement(target: size, placed: Rectangle(all: size), windowX: windowX, windowY: windowY)
  }

  private init(target: Size, placed: Rectangle, windowX: SourceWindow, windowY: SourceWindow) {
    self.target = target
    self.placed = placed
    self.windowX = windowX
    self.windowY = windowY
  }

  /// The largest size of `crop`'s shape in `target`, to the nearest whole pixel.
  private static func fitted(_ crop: Size, into target: Size) -> Size {
    target.width * crop.height <= target.height * crop.width
      ? Size(
        width: target.width,
        height: min(scaled(crop.height, by: target.width, over: crop.width), target.height))
      : Size(
        width: min(scaled(crop.width, by: target.height, over: crop.height), target.width),
        height: target.height)
  }

  /// The middle of `length` that fills `span` target pixels where `other` source pixels fill `otherSpan`.
  private static func middle(of length: Int, spanning span: Int, atScaleOf otherSpan: Int, over other: Int)
    -> SourceWindow
  {
    SourceWindow(
      start: length * otherSpan - span * other, length: 2 * span * other, denominator: 2 * otherSpan)
  }
}

/// `length * numerator / denominator` to the nearest, halves up, at least 1.
private func scaled(_ length: Int, by numerator: Int, over denominator: Int) -> Int {
  max(1, (2 * length * numerator + denominator) / (2 * denominator))
}
