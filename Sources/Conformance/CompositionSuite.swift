// The compositions that every driver must draw: each content, shape, border and transform by itself, and then
// random mixtures of all, from a fixed seed.
internal import PreviewCore

extension ConformanceSuite {
  static var scenes: [ConformanceCase] {
    contents + shapes + surfaces + transforms + grids + planes + surrounds + mixedScenes
  }

  private static let size = Size(width: 61, height: 43)
  private static let limited = ColorDescription(matrix: .bt601, range: .limited, siting: .left)
  private static let orange = RGBColor(red: 255, green: 128, blue: 0)
  private static let green = RGBColor(red: 30, green: 220, blue: 60)
  private static let blue = RGBColor(red: 21, green: 60, blue: 251)

  /// Frames in planar, paired, packed and transparent formats; upright and rotated.
  private static let sources: [SyntheticSource] = [
    (PixelFormat.nv12, Size(width: 48, height: 36), 1), (.yuyv, Size(width: 50, height: 30), 6),
    (.rgba, Size(width: 33, height: 40), 1), (.i420, Size(width: 96, height: 64), 3),
  ].enumerated().map { index, source in
    SyntheticSource(
      format: Frame.Format(
        source.0, source.1, color: limited, orientation: Orientation(exif: source.2) ?? .upright),
      content: index % 2 == 0 ? .noise : .smooth, seed: UInt64(index))
  }

  /// Returns a bitmap of random colours and alpha.
  private static func bitmap(_ size: Size) -> Bitmap? {
    var random = SplitMix64(seed: 5)
    let bytes = (0..<size.pixelCount * 4).map { _ in UInt8.random(in: 0...255, using: &random) }
    return try? Bitmap(size: size, bytes: bytes)
  }

  private static func contents(_ size: Size) -> [LayerContent] {
    [
      .color(orange), .gradient(LinearGradient(from: blue, to: orange)),
      .gradient(LinearGradient(from: green, to: blue, angle: 33)), .view(input: 0, ViewConfiguration()),
      .view(input: 1, ViewConfiguration(rotation: .clockwise90, contentMode: .fit, surround: .clear)),
      .view(input: 2, ViewConfiguration(background: green, filter: .lanczos)),
      .view(input: 3, ViewConfiguration(mirroring: .horizontal, contentMode: .inside)),
      .blurred(input: 0, ViewConfiguration(), Blur(cell: 2)),
      .blurred(input: 3, ViewConfiguration(), Blur(cell: 7)),
      .blurred(input: 2, ViewConfiguration(contentMode: .stretch), Blur(cell: 40)),
    ] + (bitmap(size).map { [.bitmap($0)] } ?? [])
  }

  private static func scene(
    _ group: String, _ layers: [Layer], _ size: Size = size, as format: Picture.Format = .rgba
  ) -> ConformanceCase {
    let below = Layer(
      .gradient(LinearGradient(from: green, to: .black, angle: 100)), in: Rectangle(all: size))
    return ConformanceCase(group, sources, Composition(size: size, layers: [below] + layers), as: format)
  }

  /// Contents at positions that begin at each of a texel's four pixels, and partly outside the picture.
  private static var contents: [ConformanceCase] {
    let frames = [
      Rectangle(x: 0, y: 0, width: 61, height: 43), Rectangle(x: 5, y: 3, width: 20, height: 30),
      Rectangle(x: 18, y: 7, width: 37, height: 9), Rectangle(x: -11, y: -6, width: 31, height: 29),
      Rectangle(x: 43, y: 30, width: 40, height: 33), Rectangle(x: 30, y: 20, width: 1, height: 1),
    ]
    return frames.flatMap { frame in
      contents(frame.size).map { scene("scene contents", [Layer($0, in: frame)]) }
    }
  }

  private static var shapes: [ConformanceCase] {
    let frame = Rectangle(x: 7, y: 4, width: 45, height: 34)
    let shapes: [LayerShape] = [
      .rectangle, .rounded(0.5), .rounded(6), .rounded(11.25), .rounded(400), .circle,
    ]
    let borders = [
      nil, Border(width: 0.4, color: blue), Border(width: 3, color: orange), Border(width: 90, color: blue),
    ]
    let contents = contents(frame.size)
    return shapes.enumerated().flatMap { row, shape in
      borders.enumerated().flatMap { column, border in
        // Three contents for each shape and border, in turn.
        (0..<3).map {
          let content = contents[(row * 5 + column * 3 + $0) % contents.count]
          return scene("scene shapes", [Layer(content, in: frame, shape: shape, border: border)])
        }
      }
    }
  }

  private static var surfaces: [ConformanceCase] {
    let frame = Rectangle(x: 3, y: -4, width: 51, height: 40)
    let adjustments = [
      ColorAdjustment.none, .dimmed(to: 0.35),
      ColorAdjustment(scale: [1, 0.5, -1], offset: [-40, 30.5, 255]),
    ]
    return [1, 0.5, 0.03].flatMap { opacity in
      adjustments.flatMap { adjustment in
        contents(frame.size).enumerated().filter { opacity == 0.5 || $0.offset % 4 == 0 }.map {
          scene(
            "scene surfaces",
            [Layer($0.element, in: frame, shape: .rounded(5), opacity: opacity, adjustment: adjustment)])
        }
      }
    }
  }

  private static var transforms: [ConformanceCase] {
    let frame = Rectangle(x: 12, y: 8, width: 33, height: 24)
    let turn = AffineTransform(a: 0.8, b: 0.6, c: -0.6, d: 0.8, tx: 0, ty: 0)
    let transforms: [AffineTransform] = [
      .translation(x: 3, y: -2), .translation(x: 0.5, y: 0.25), turn, .scale(x: 1.5, y: 1.5),
      .scale(x: 0.4, y: 0.4), .scale(x: -1, y: 1), .scale(x: 1.7, y: 0.6),
      turn.followed(by: .scale(x: 2, y: 2)),
      AffineTransform(a: 0, b: 1, c: -1, d: 0, tx: 0.5, ty: 0.5),
      AffineTransform(a: 1, b: 0.3, c: -0.2, d: 0.9, tx: 4.3, ty: -7.8),
    ]
    return transforms.flatMap { transform in
      contents(frame.size).enumerated().map { index, content in
        let isCut = index % 3 == 0
        return scene(
          "scene transforms",
          [
            Layer(
              content, in: frame, shape: .rounded(isCut ? 7 : 0),
              border: isCut ? Border(width: 2, color: orange) : nil, transform: transform)
          ])
      }
    }
  }

  /// Tiles with gaps, and two overlapping layers above them.
  private static var grids: [ConformanceCase] {
    [0, 1, 2, 3].map { gap in
      let tiles = (0..<9).map { index in
        Layer(
          .view(input: index % 4, ViewConfiguration(contentMode: index % 2 == 0 ? .fill : .fit)),
          in: Rectangle(
            x: gap + index % 3 * (30 + gap), y: gap + index / 3 * (20 + gap), width: 30, height: 20),
          shape: .rounded(Double(gap * 2)), border: index == 4 ? Border(width: 2, color: green) : nil)
      }
      let over = [
        Layer(.color(blue), in: Rectangle(x: 20, y: 20, width: 50, height: 17), opacity: 0.4),
        Layer(
          .view(input: 0, ViewConfiguration()), in: Rectangle(x: 51, y: 9, width: 30, height: 30),
          shape: .circle),
      ]
      return scene("scene grids", tiles + over, Size(width: 99, height: 67))
    }
  }

  private static var planes: [ConformanceCase] {
    let sizes = [(1, 1), (2, 3), (5, 4), (6, 5), (7, 7), (8, 2), (61, 43), (64, 48)]
    return Picture.Format.allCases.flatMap { format in
      sizes.map { width, height in
        let size = Size(width: width, height: height)
        let view = LayerContent.view(input: 0, ViewConfiguration())
        return scene(
          "scene output \(format)", [Layer(view, in: Rectangle(all: size), shape: .rounded(3), opacity: 0.9)],
          size, as: format)
      }
    }
  }

  /// Fitted pictures over their own blurred copies, alone and in scenes.
  private static var surrounds: [ConformanceCase] {
    let view = ViewConfiguration(width: 40, height: 60, contentMode: .fit, surround: .blur)
    let alone = [Picture.Format.rgba, .ycbcr(.yuv420)].flatMap { format in
      sources.map {
        ConformanceCase("background=blur", $0.format, $0.content, seed: $0.seed, view, as: format)
      }
    }
    let layer = Layer(
      .view(input: 0, view), in: Rectangle(x: 5, y: 2, width: 50, height: 33), shape: .rounded(9),
      border: Border(width: 2, color: orange))
    return alone + [scene("background=blur", [layer])]
  }

  /// Random compositions from one seed.
  private static var mixedScenes: [ConformanceCase] {
    var random = SplitMix64(seed: 2027)
    return (0..<60).map { _ in
      let size = Size(
        width: Int.random(in: 1...90, using: &random), height: Int.random(in: 1...70, using: &random))
      let layers = (0..<Int.random(in: 1...6, using: &random)).map { _ in layer(in: size, &random) }
      return scene(
        "scenes mixed", layers, size, as: Picture.Format.allCases.randomElement(using: &random) ?? .rgba)
    }
  }

  private static func layer(in size: Size, _ random: inout SplitMix64) -> Layer {
    let frame = Rectangle(
      x: Int.random(in: -20...size.width, using: &random),
      y: Int.random(in: -20...size.height, using: &random),
      width: Int.random(in: 1...60, using: &random), height: Int.random(in: 1...60, using: &random))
    let content = contents(frame.size).randomElement(using: &random) ?? .color(orange)
    let turn = Double.random(in: 0...6.3, using: &random)
    let scale = Double.random(in: 0.3...2, using: &random)
    let (x, y) = (Double.random(in: -9...9, using: &random), Double.random(in: -9...9, using: &random))
    let transforms: [AffineTransform] = [
      .identity, .identity, .translation(x: x, y: y),
      AffineTransform(
        a: scale * cosine(turn), b: scale * cosine(turn - 1.5708), c: -scale * cosine(turn - 1.5708),
        d: scale * cosine(turn), tx: x, ty: y),
    ]
    let shapes: [LayerShape] = [.rectangle, .circle, .rounded(Double.random(in: 0...30, using: &random))]
    let borders = [nil, Border(width: Double.random(in: 0.1...5, using: &random), color: blue)]
    return Layer(
      content, in: frame, shape: shapes.randomElement(using: &random) ?? .rectangle,
      border: borders.randomElement(using: &random) ?? nil,
      opacity: [1, Double.random(in: 0...1, using: &random)].randomElement(using: &random) ?? 1,
      adjustment: [.none, .dimmed(to: Double.random(in: 0...1, using: &random))].randomElement(using: &random)
        ?? .none,
      transform: transforms.randomElement(using: &random) ?? .identity)
  }

  /// Returns an approximate cosine, the same on every machine: the first terms of its series around the
  /// nearest multiple of pi.
  private static func cosine(_ angle: Double) -> Double {
    let rest = abs(angle.remainder(dividingBy: 2 * .pi))
    let (folded, sign) = rest > .pi / 2 ? (.pi - rest, -1.0) : (rest, 1.0)
    let square = folded * folded
    return sign * (1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56))))
  }
}
