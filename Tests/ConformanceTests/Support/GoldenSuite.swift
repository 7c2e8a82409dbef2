// The views of the test card whose pictures are kept: what each key of a view does, to be looked at.
import Conformance
import PreviewCore

/// A picture that is kept, and how it is made.
struct GoldenCase: Sendable, CustomStringConvertible {
  /// Of the file, without its ending.
  let name: String
  /// Of the test cards, one for each frame.
  let formats: [Frame.Format]
  /// What is hidden of each.
  var masks: [PrivacyMask] = []
  let subject: ConformanceSubject
  /// The largest difference of a channel that a renderer may show: 0 for copies, else 1.
  let bound: Int

  var description: String { name }

  /// The cards without what is hidden.
  func frames() throws -> [Frame] {
    try formats.map { format in
      try TestCard.frame(format).masked(by: MaskPlan(masks, reference: format.uprightSize, format: format))
    }
  }
}

/// The golden pictures.
enum GoldenSuite {
  private static let size = Size(width: 47, height: 35)
  private static let limited = ColorDescription(matrix: .bt601, range: .limited, siting: .left)
  private static let orange = RGBColor(red: 255, green: 128, blue: 0)

  private static func card(
    _ pixelFormat: PixelFormat = .rgb24, _ color: ColorDescription = limited,
    _ orientation: Orientation = .upright
  ) -> Frame.Format {
    Frame.Format(pixelFormat, size, color: color, orientation: orientation)
  }

  private static func golden(
    _ name: String, _ view: ViewConfiguration, of format: Frame.Format = card(),
    as output: Picture.Format = .rgba, hiding masks: [PrivacyMask] = [], bound: Int = 1
  ) -> GoldenCase {
    GoldenCase(
      name: name, formats: [format], masks: masks, subject: .view(ViewRequest(view, as: output)), bound: bound
    )
  }

  static let cases: [GoldenCase] = [
    formats, filters, modes, turns, crops, colors, light, outputs, compositions, masks, warps,
  ]
  .flatMap(\.self)

  private static let formats: [GoldenCase] = PixelFormat.allCases.map {
    golden("format-\($0.rawValue)", ViewConfiguration(background: orange), of: card($0))
  }

  private static let filters: [GoldenCase] = Filter.allCases.flatMap { filter in
    [
      Size(width: 19, height: 14), Size(width: 94, height: 70), Size(width: 47, height: 12),
      Size(width: 5, height: 4),
    ].map {
      golden(
        "filter-\(filter.rawValue)-\($0)",
        ViewConfiguration(width: $0.width, height: $0.height, contentMode: .stretch, filter: filter),
        of: card(.nv12))
    }
  }

  private static let modes: [GoldenCase] = ContentMode.allCases.flatMap { mode in
    [Size(width: 30, height: 30), Size(width: 60, height: 21)].map {
      golden(
        "mode-\(mode.rawValue)-\($0)",
        ViewConfiguration(width: $0.width, height: $0.height, contentMode: mode, background: orange))
    }
  }

  private static let turns: [GoldenCase] =
    Rotation.allCases.flatMap { rotation in
      Mirroring.allCases.map { mirroring in
        golden(
          "rotate-\(rotation.rawValue)-mirror-\(mirroring.rawValue)",
          ViewConfiguration(rotation: rotation, mirroring: mirroring), bound: 0)
      }
    }
    + Orientation.allCases.map { orientation in
      golden(
        "exif-\(orientation.exif)", ViewConfiguration(width: 24), of: card(.i420, .jfif, orientation))
    }

  private static let crops: [GoldenCase] = [
    ("top-left", Rectangle(x: 0, y: 0, width: 9, height: 7)),
    ("top-right", Rectangle(x: 38, y: 0, width: 9, height: 7)),
    ("bottom-left", Rectangle(x: 0, y: 28, width: 9, height: 7)),
    ("bottom-right", Rectangle(x: 38, y: 28, width: 9, height: 7)),
    ("middle", Rectangle(x: 17, y: 11, width: 13, height: 13)),
    ("pixel", Rectangle(x: 23, y: 17, width: 1, height: 1)),
    ("row", Rectangle(x: 1, y: 33, width: 45, height: 1)),
    ("column", Rectangle(x: 45, y: 1, width: 1, height: 33)),
  ].flatMap { name, crop -> [GoldenCase] in
    [
      golden("crop-\(name)", ViewConfiguration(crop: crop), bound: 0),
      golden("crop-\(name)-nv12-x2", ViewConfiguration(crop: crop, width: crop.width * 2), of: card(.nv12)),
    ]
  }

  private static let colors: [GoldenCase] = ColorDescription.Matrix.allCases.flatMap { matrix in
    ColorDescription.QuantizationRange.allCases.flatMap { range in
      ColorDescription.ChromaSiting.allCases.map { siting in
        golden(
          "color-\(matrix.rawValue)-\(range.rawValue)-\(siting.rawValue)", ViewConfiguration(),
          of: card(.i420, ColorDescription(matrix: matrix, range: range, siting: siting)))
      }
    }
  }

  private static let warps: [GoldenCase] = {
    let lenses: [(String, Lens)] =
      Lens.Curve.allCases.map { ($0.rawValue, Lens(.curve($0), fov: 170)) } + [
        ("fisheye", Lens(.fisheye(distortion: [-0.02, 0.01, -0.003, 0.0005]), fov: 185)),
        (
          "pinhole",
          Lens(
            .pinhole(distortion: [-0.28, 0.09, 0.001, -0.0007, -0.012]),
            matrix: Lens.Matrix(fx: 37, fy: 37.5, cx: 23, cy: 17), size: size)
        ),
        ("ptlens", Lens(.ptlens(a: 0.01, b: -0.02, c: 0.005), fov: 70)),
      ]
    let models = lenses.map { name, lens in
      golden(
        "lens-\(name)",
        ViewConfiguration(
          width: 40, height: 30, background: orange, lens: lens,
          projection: Projection(yaw: 15, pitch: 10, roll: 5, hfov: 80)), of: card(.nv12))
    }
    let shapes = Projection.Shape.allCases.map { shape in
      golden(
        "projection-\(shape.rawValue)",
        ViewConfiguration(
          width: 60, height: 30, background: orange, lens: Lens(.curve(.equidistant)),
          projection: Projection(shape, hfov: 150)))
    }
    let corners = Corners(topLeft: [8, 3], topRight: [40, 7], bottomRight: [45, 33], bottomLeft: [2, 28])
    return models + shapes + [
      golden("corners", ViewConfiguration(width: 40, height: 30, background: orange, corners: corners)),
      golden("angle-fill", ViewConfiguration(background: orange, angle: 12.5), of: card(.i420, .jfif)),
      golden("angle-fit", ViewConfiguration(contentMode: .fit, background: orange, angle: 12.5)),
    ]
  }()

  private static let light: [GoldenCase] = [PixelFormat.rgb24, .nv12, .rgba].map {
    golden(
      "linear-\($0.rawValue)",
      ViewConfiguration(width: 20, height: 15, contentMode: .stretch, background: orange, light: .linear),
      of: card($0))
  }

  private static let outputs: [GoldenCase] = Picture.ChromaSubsampling.allCases.flatMap { chroma in
    [(PixelFormat.rgb24, limited), (.nv12, limited), (.i420, ColorDescription.jfif), (.grey, .jfif)].map {
      pixelFormat, color in
      golden(
        "planes-\(chroma.rawValue)-\(pixelFormat.rawValue)",
        ViewConfiguration(width: 31, height: 31, contentMode: .fit, background: orange),
        of: card(pixelFormat, color), as: .ycbcr(chroma))
    }
  }

  private static let masks: [GoldenCase] = [
    (
      "fill", PrivacyMask.Shape.rectangle(Rectangle(x: 9, y: 7, width: 21, height: 15)),
      PrivacyMask.Effect.fill(orange)
    ),
    ("pixelate", .rectangle(Rectangle(x: 9, y: 3, width: 32, height: 27)), .pixelate(cell: 8)),
    ("blur", .rectangle(Rectangle(x: 9, y: 3, width: 32, height: 27)), .blur(radius: 8)),
    ("polygon", .polygon([[3, 30], [24, 2], [45, 30], [24, 17]]), .fill(orange)),
    ("polygon-blur", .polygon([[3, 30], [24, 2], [45, 30], [24, 25]]), .blur(radius: 8)),
  ].flatMap { name, shape, effect -> [GoldenCase] in
    let masks = [PrivacyMask(shape, effect: effect)]
    return [
      golden("mask-\(name)", ViewConfiguration(), of: card(.rgb24), hiding: masks, bound: 0),
      golden(
        "mask-\(name)-nv12-turned-x2", ViewConfiguration(rotation: .clockwise90, height: 94),
        of: card(.nv12), hiding: masks),
    ]
  }
}
