// The text form of a mask, shared by `--mask`, configuration files and URLs.

extension PrivacyMask: CustomStringConvertible {
  /// The largest coordinate of a polygon's point, in pixels, and the most points.
  private static let (farthest, mostPoints) = (999_999, 1000)
  private static let way = -farthest...farthest

  /// Parses a rectangle `WxH+X+Y` or `X,Y,W,H`, or a polygon `X,Y X,Y X,Y...`, optionally followed by
  /// `:fill=#RRGGBB`, `:pixelate=N` or `:blur=N`, N in pixels. The default is a black fill. Without `=`, fill is
  /// black and N is 1.
  ///
  /// - Throws: `WordError` with key `mask`.
  public init(parsing text: String) throws(WordError) {
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

  private static func shape(_ text: String) throws(WordError) -> Shape {
    let corners = text.split(separator: " ")
    guard corners.count > 1 else {
      do throws(WordError) {
        return .rectangle(try Words.rectangle("mask", text))
      } catch {
        throw WordError("mask", "\(error.reason), nor a polygon X,Y X,Y X,Y...")
      }
    }
    var points: [SIMD2<Int>] = []
    for corner in corners {
      let numbers = corner.split(separator: ",", omittingEmptySubsequences: false)
      guard numbers.count == 2, let x = try? Words.whole("mask", numbers[0], in: way),
        let y = try? Words.whole("mask", numbers[1], in: way)
      else {
        throw WordError(
          "mask", "'\(corner)' is not a point X,Y of whole numbers from -\(farthest) to \(farthest)")
      }
      points.append([x, y])
    }
    guard (3...mostPoints).contains(points.count) else {
      throw WordError("mask", "'\(text)': a polygon has 3 to \(mostPoints) points, not \(points.count)")
    }
    return .polygon(points)
  }

  private static func effect(_ text: Substring) throws(WordError) -> Effect {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = sides.count == 2 ? sides[1] : nil
    switch sides[0] {
    case "fill":
      guard let value else { return .fill(.black) }
      guard let color = RGBColor(value) else { throw WordError("mask", "fill '\(value)' is not #RRGGBB") }
      return .fill(color)
    case "pixelate": return .pixelate(cell: try pixels(sides[0], value))
    case "blur": return .blur(radius: try pixels(sides[0], value))
    default: throw WordError("mask", "'\(text)' is none of fill=#RRGGBB, pixelate=N, blur=N")
    }
  }

  private static func pixels(_ effect: Substring, _ value: Substring?) throws(WordError) -> Int {
    guard let value else { return 1 }
    do throws(WordError) {
      return try Words.side("mask", value)
    } catch {
      throw WordError("mask", "\(effect) \(error.reason)")
    }
  }
}
