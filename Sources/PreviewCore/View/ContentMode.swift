// How a picture of one shape fills a target of another: the visible part and its position.

/// How to resolve different aspect ratios of the (rotated) crop and the target.
public enum ContentMode: String, Sendable, Hashable, CaseIterable {
  /// Scales to cover the target and crops around the centre (UIKit's scaleAspectFill, CSS's cover).
  case fill
  /// Scales to fit inside the target; the background fills the rest (scaleAspectFit, contain).
  case fit
  /// Stretches to the target (scaleToFill, fill).
  case stretch
  /// Scales to fit without enlarging, and shrinks the target to the picture, so that there are no bars.
  case inside
}

/// A range along one axis of the crop as seen. Both numbers are exact fractions over `denominator`.
package struct SourceWindow: Sendable, Hashable {
  /// Distance from the crop's edge, times `denominator`.
  package let start: Int
  /// Length, times `denominator`.
  package let length: Int
  /// At least 1.
  package let denominator: Int

  /// Creates the window `start / denominator` and `length / denominator`, reduced, so that equal windows
  /// compare equal.
  package init(start: Int, length: Int, denominator: Int) {
    let divisor = greatestCommonDivisor(greatestCommonDivisor(denominator, length), start)
    self.start = start / divisor
    self.length = length / divisor
    self.denominator = denominator / divisor
  }
}

/// The result of a content mode: the target size, the rectangle of it that the picture covers, and the window
/// of the crop (as seen, after rotation) that is scaled into that rectangle.
package struct Placement: Sendable, Hashable {
  package let target: Size
  /// In whole pixels, inside the target.
  package let placed: Rectangle
  /// The visible columns of the crop.
  package let windowX: SourceWindow
  /// The visible rows of the crop.
  package let windowY: SourceWindow

  /// Places a crop, of this size after rotation, in a target. If only one side is given, the other follows
  /// from the aspect ratio, rounded half up, at least 1. If neither is given, the target has the crop's size.
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
      // The side that needs the larger factor decides; the other side is cropped around its middle.
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

  /// Whether the picture leaves part of the target free.
  var hasBars: Bool { placed != Rectangle(all: target) }

  /// The placed picture without the bars.
  var withoutBars: Placement { sampled(placed.size) }

  /// Returns the placement of the same part of the crop in a target of another size, without bars.
  func sampled(_ size: Size) -> Placement {
    Placement(target: size, placed: Rectangle(all: size), windowX: windowX, windowY: windowY)
  }

  private init(target: Size, placed: Rectangle, windowX: SourceWindow, windowY: SourceWindow) {
    self.target = target
    self.placed = placed
    self.windowX = windowX
    self.windowY = windowY
  }

  /// Returns the largest size with `crop`'s aspect ratio inside `target`, rounded to whole pixels.
  private static func fitted(_ crop: Size, into target: Size) -> Size {
    target.width * crop.height <= target.height * crop.width
      ? Size(
        width: target.width,
        height: min(scaled(crop.height, by: target.width, over: crop.width), target.height))
      : Size(
        width: min(scaled(crop.width, by: target.height, over: crop.height), target.width),
        height: target.height)
  }

  /// Returns the middle part of `length` that fills `span` target pixels, at the scale where `other` source
  /// pixels fill `otherSpan`.
  private static func middle(of length: Int, spanning span: Int, atScaleOf otherSpan: Int, over other: Int)
    -> SourceWindow
  {
    SourceWindow(
      start: length * otherSpan - span * other, length: 2 * span * other, denominator: 2 * otherSpan)
  }
}

/// Returns `length * numerator / denominator`, rounded half up, at least 1.
private func scaled(_ length: Int, by numerator: Int, over denominator: Int) -> Int {
  max(1, (2 * length * numerator + denominator) / (2 * denominator))
}
