// The compositions of test cards whose pictures are kept: what layers, shapes and transforms do, to be looked at.
import Conformance
import PreviewCore

extension GoldenSuite {
  private static let orange = RGBColor(red: 255, green: 128, blue: 0)
  private static let navy = RGBColor(red: 16, green: 24, blue: 64)

  /// A wide card, a high one, and one that lets the background through.
  private static let cards: [Frame.Format] = [
    (PixelFormat.nv12, 64, 40), (.i420, 36, 60), (.rgba, 48, 48),
  ].map { pixelFormat, width, height in
    Frame.Format(
      pixelFormat, Size(width: width, height: height),
      color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
  }

  private static func scene(
    _ name: String, _ layers: [Layer], width: Int = 96, height: Int = 64, as output: Picture.Format = .rgba
  ) -> GoldenCase {
    let size = Size(width: width, height: height)
    let behind = Layer(
      .gradient(LinearGradient(from: navy, to: orange, angle: 150)), in: Rectangle(all: size))
    return GoldenCase(
      name: "scene-\(name)", formats: cards,
      subject: .scene(Composition(size: size, layers: [behind] + layers), as: output), bound: 1)
  }

  private static func tile(
    _ input: Int, _ x: Int, _ y: Int, _ width: Int, _ height: Int, mode: ContentMode = .fill
  ) -> Layer {
    Layer(
      .view(input: input, ViewConfiguration(contentMode: mode, surround: .clear)),
      in: Rectangle(x: x, y: y, width: width, height: height))
  }

  private static func changed(_ layer: Layer, _ change: (inout Layer) -> Void) -> Layer {
    var layer = layer
    change(&layer)
    return layer
  }

  /// White, from clear on the left to opaque on the right.
  private static let veil: Layer? = {
    let size = Size(width: 80, height: 20)
    let bytes = (0..<size.pixelCount).flatMap { pixel -> [UInt8] in
      [255, 255, 255, UInt8(pixel % size.width * 255 / (size.width - 1))]
    }
    guard let bitmap = try? Bitmap(size: size, bytes: bytes) else { return nil }
    return Layer(.bitmap(bitmap), in: Rectangle(x: 8, y: 22, width: size.width, height: size.height))
  }()

  static let compositions: [GoldenCase] =
    [
      scene("grid", (0..<6).map { tile($0 % 3, 3 + $0 % 3 * 31, 3 + $0 / 3 * 31, 28, 27) }),
      scene(
        "fit", [tile(0, 4, 4, 42, 56, mode: .fit), tile(1, 50, 4, 42, 56, mode: .fit)]),
      scene(
        "speaking",
        [
          changed(tile(0, 6, 8, 60, 44)) {
            ($0.shape, $0.border) = (
              .rounded(10), Border(width: 3, color: RGBColor(red: 40, green: 230, blue: 90))
            )
          },
          changed(tile(1, 70, 8, 20, 20)) {
            ($0.shape, $0.border) = (.circle, Border(width: 1.5, color: .black))
          },
        ]),
      scene(
        "blur",
        [
          Layer(
            .blurred(input: 0, ViewConfiguration(), Blur(cell: 12)),
            in: Rectangle(x: 0, y: 0, width: 96, height: 64)),
          changed(tile(2, 30, 14, 36, 36)) { $0.shape = .circle },
        ]),
      scene(
        "opacity",
        [0.25, 0.5, 0.75, 1].enumerated().map { index, opacity in
          changed(tile(index % 2, 2 + 23 * index, 10, 30, 44)) { $0.opacity = opacity }
        }),
      scene(
        "adjusted",
        [
          changed(tile(0, 4, 6, 42, 52)) { $0.adjustment = .dimmed(to: 0.4) },
          changed(tile(0, 50, 6, 42, 52)) {
            $0.adjustment = ColorAdjustment(scale: [0.5, 1, 1], offset: [0, -60, 80])
          },
        ]),
      scene(
        "turned",
        [
          changed(tile(0, 20, 12, 50, 36)) {
            $0.transform = AffineTransform(a: 0.8, b: 0.6, c: -0.6, d: 0.8, tx: 6, ty: 0)
            ($0.shape, $0.border) = (.rounded(6), Border(width: 2, color: .black))
          }
        ]),
      scene(
        "replicated",
        (0..<5).map { index in
          changed(tile(0, 3, 15, 56, 35)) {
            let scale = 1 - Double(index) * 0.15
            $0.transform = .scale(x: scale, y: scale).followed(by: .translation(x: Double(index) * 14, y: 0))
            $0.adjustment = ColorAdjustment(offset: [Double(index) * 30, 0, Double(index) * -30])
          }
        }),
      scene(
        "mirrored",
        [changed(tile(1, 10, 2, 36, 60)) { $0.transform = .scale(x: -1, y: 1) }, tile(1, 50, 2, 36, 60)]),
      scene("outside", [tile(0, -20, -12, 60, 44), changed(tile(1, 70, 30, 50, 50)) { $0.shape = .circle }]),
      scene("veil", [tile(2, 12, 4, 72, 56)] + (veil.map { [$0] } ?? [])),
      scene(
        "planes", [changed(tile(0, 7, 5, 61, 47)) { $0.shape = .rounded(12) }], width: 75, height: 57,
        as: .ycbcr(.yuv420)),
    ] + [
      GoldenCase(
        name: "background-blur", formats: [cards[1]],
        subject: .view(
          ViewRequest(
            ViewConfiguration(width: 90, height: 60, contentMode: .fit, surround: .blur), as: .rgba)),
        bound: 1)
    ]
}
