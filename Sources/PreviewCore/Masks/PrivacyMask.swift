// The parts of a source's picture to hide, what is drawn there instead, and the text form of both, which
// `--mask`, configuration files and URLs share.

/// One hidden part of a source's picture.
///
/// A mask is burned into each frame's samples before any other step: no view, snapshot, scene or texture
/// contains the hidden samples. `docs/semantics.md` defines the samples it covers, and what lossy cameras
/// still reveal around its edges.
public struct PrivacyMask: Sendable, Hashable {
  /// The hidden part.
  public var shape: Shape
  /// The drawing that replaces the hidden part.
  public var effect: Effect

  /// Creates a mask, filled black by default.
  public init(_ shape: Shape, effect: Effect = .fill(.black)) {
    self.shape = shape
    self.effect = effect
  }
}

extension PrivacyMask {
  /// The area of a mask, in pixels of the upright source at its reference size, from the top left corner.
  public enum Shape: Sendable, Hashable {
    /// Whole pixels. The part outside the picture is ignored.
    case rectangle(Rectangle)
    /// The inside of a closed polygon by the non-zero rule: where the line crosses itself, the loops are
    /// inside too. Coordinates lie between pixels: (0, 0) is the first pixel's top left corner. At least
    /// three points; they may lie outside the picture. A polygon without area hides its bounding rectangle.
    case polygon([SIMD2<Int>])
  }

  /// The drawing that replaces the hidden part.
  ///
  /// `fill` reveals nothing. The other effects reveal the mean colours of square cells: a cell's side is at
  /// least 8 pixels and at least an eighth of the mask's shorter side, whatever is requested. Many frames of
  /// a moving subject reveal more than one frame does.
  public enum Effect: Sendable, Hashable {
    /// A solid colour.
    case fill(RGBColor)
    /// Square cells of at least `cell` pixels, each filled with its mean colour.
    case pixelate(cell: Int)
    /// The means of cells of at least `radius` pixels, interpolated smoothly.
    case blur(radius: Int)
  }
}

extension [PrivacyMask] {
  /// Checks that each mask hides something of a source.
  ///
  /// - Parameter size: the upright source's size; both sides positive.
  /// - Throws: `ParameterError` with key `mask`, naming the first mask that lies wholly outside or has fewer than
  ///   three points.
  package func check(in size: Size) throws(ParameterError) {
    let format = Frame.Format(.grey, size, color: .jfif)
    for mask in self {
      if case .polygon(let points) = mask.shape, points.count < 3 {
        throw ParameterError("mask", "'\(mask)': a polygon has three points or more")
      }
      guard !MaskRegion(mask.shape, reference: size, in: format).spans.isEmpty else {
        throw ParameterError("mask", "'\(mask)' lies outside the \(size) picture")
      }
    }
  }
}

extension PrivacyMask: CustomStringConvertible {
  /// The largest coordinate of a polygon's point, in pixels, and the most points.
  private static let (farthest, mostPoints) = (999_999, 1000)
  private static let way = -farthest...farthest

  /// Parses a rectangle `WxH+X+Y` or `X,Y,W,H`, or a polygon `X,Y X,Y X,Y...`, optionally followed by
  /// `:fill=#RRGGBB`, `:pixelate=N` or `:blur=N`, N in pixels. The default is a black fill. Without `=`, fill
  /// is black and N is 1.
  ///
  /// - Throws: `ParameterError` with key `mask`.
  public init(parsing text: String) throws(ParameterError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(
      try PrivacyMask.shape(String(parts[0])),
      effect: parts.count == 2 ? try PrivacyMask.effect(parts[1]) : .fill(.black))
  }

  /// The text that `init(parsing:)` reads.
  public var description: String {
    let shape =
      switch shape {
      case .rectangle(let rectangle): rectangle.description
      case .polygon(let points): points.map { "\($0.x),\($0.y)" }.joined(separator: " ")
      }
    return switch effect {
    case .fill(let color): "\(shape):fill=\(color)"
    case .pixelate(let cell): "\(shape):pixelate=\(cell)"
    case .blur(let radius): "\(shape):blur=\(radius)"
    }
  }

  private static func shape(_ text: String) throws(ParameterError) -> Shape {
    let corners = text.split(separator: " ")
    guard corners.count > 1 else {
      do throws(ParameterError) {
        return .rectangle(try ParameterParser.rectangle("mask", text))
      } catch {
        throw ParameterError("mask", "\(error.reason); a polygon is X,Y X,Y X,Y...")
      }
    }
    var points: [SIMD2<Int>] = []
    for corner in corners {
      let numbers = corner.split(separator: ",", omittingEmptySubsequences: false)
      guard numbers.count == 2, let x = try? ParameterParser.whole("mask", numbers[0], in: way),
        let y = try? ParameterParser.whole("mask", numbers[1], in: way)
      else {
        throw ParameterError(
          "mask", "'\(corner)' is not a point X,Y of whole numbers from -\(farthest) to \(farthest)")
      }
      points.append([x, y])
    }
    guard (3...mostPoints).contains(points.count) else {
      throw ParameterError("mask", "'\(text)': a polygon has 3 to \(mostPoints) points, not \(points.count)")
    }
    return .polygon(points)
  }

  private static func effect(_ text: Substring) throws(ParameterError) -> Effect {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = sides.count == 2 ? sides[1] : nil
    switch sides[0] {
    case "fill":
      guard let value else { return .fill(.black) }
      guard let color = RGBColor(value) else {
        throw ParameterError("mask", "fill '\(value)' is not a colour: use #RRGGBB, such as #202020")
      }
      return .fill(color)
    case "pixelate": return .pixelate(cell: try pixels(sides[0], value))
    case "blur": return .blur(radius: try pixels(sides[0], value))
    default: throw ParameterError("mask", "'\(text)' is not one of fill=#RRGGBB, pixelate=N, blur=N")
    }
  }

  private static func pixels(_ effect: Substring, _ value: Substring?) throws(ParameterError) -> Int {
    guard let value else { return 1 }
    do throws(ParameterError) {
      return try ParameterParser.side("mask", value)
    } catch {
      throw ParameterError("mask", "\(effect) \(error.reason)")
    }
  }
}
