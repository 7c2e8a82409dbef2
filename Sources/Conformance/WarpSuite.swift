// The cases of warped views that every driver must pass: each lens, projection and filter by itself, and then random mixtures.
internal import PreviewCore

/// The warps of `ConformanceSuite`.
enum WarpSuite {
  static var cases: [ConformanceCase] { lenses + planes + frames + mixed(count: 60) }

  private static let orange = RGBColor(red: 250, green: 120, blue: 0)
  private static let limited = ColorDescription(matrix: .bt601, range: .limited, siting: .left)

  private static let models: [Lens] =
    Lens.Curve.allCases.map { Lens(.curve($0), fov: 170) } + [
      Lens(.fisheye(distortion: [-0.02, 0.01, -0.003, 0.0005]), fov: 185),
      Lens(
        .pinhole(distortion: [-0.28, 0.09, 0.001, -0.0007, -0.012]),
        matrix: Lens.Matrix(fx: 55, fy: 56, cx: 34.5, cy: 24), size: Size(width: 71, height: 53)),
      Lens(.ptlens(a: 0.01, b: -0.02, c: 0.005), fov: 70),
    ]

  /// Each model, as each shape, enlarged, about 1:1 and shrunk.
  private static var lenses: [ConformanceCase] {
    models.flatMap { lens in
      Projection.Shape.allCases.flatMap { shape in
        [(120, 68, 60.0), (41, 31, 90), (13, 9, 120)].map { width, height, hfov in
          ConformanceCase(
            "warp by a lens", Frame.Format(.nv12, Size(width: 71, height: 53), color: limited), seed: 5,
            ViewConfiguration(
              width: width, height: height, background: orange, lens: lens,
              projection: Projection(shape, yaw: 20, pitch: -12, roll: 7, hfov: hfov)),
            as: width == 41 ? .rgba : .ycbcr(.yuv420))
        }
      }
    }
  }

  /// Corners and rotations, by each filter that goes with them.
  private static var planes: [ConformanceCase] {
    let corners = Corners(
      topLeft: [9, 4], topRight: [60, 11], bottomRight: [74, 50], bottomLeft: [-6, 40])
    return [Filter.auto, .nearest, .bilinear, .area, .bicubic].flatMap { filter in
      [(nil, nil), (130, 90), (17, 12), (1, 1)].flatMap { (width: Int?, height: Int?) in
        [ContentMode.fill, .fit].flatMap { mode in
          [(0.0, corners as Corners?), (12.5, nil)].map { angle, corners in
            ConformanceCase(
              "warp of a plane", Frame.Format(.i420, Size(width: 71, height: 53), color: .jfif), seed: 6,
              ViewConfiguration(
                rotation: .clockwise90, mirroring: .horizontal, width: width, height: height,
                contentMode: mode, background: orange, filter: filter, angle: angle, corners: corners),
              as: mode == .fit ? .rgba : .ycbcr(.yuv420))
          }
        }
      }
    }
  }

  /// Each format, turned and decoded smaller.
  private static var frames: [ConformanceCase] {
    PixelFormat.allCases.flatMap { pixelFormat in
      [(8, Orientation.upright), (8, Orientation.allCases[5]), (4, Orientation.allCases[2])].map {
        eighths, orientation in
        ConformanceCase(
          "warp of a format",
          Frame.Format(
            pixelFormat, Size(width: 61, height: 47), color: limited, orientation: orientation,
            eighths: eighths), seed: 7,
          ViewConfiguration(
            crop: Rectangle(x: 3, y: 2, width: 40, height: 41), width: 37, height: 23, background: orange,
            angle: -7.5), as: eighths == 4 ? .ycbcr(.yuv420) : .rgba)
      }
    }
  }

  /// Random cases from one seed.
  static func mixed(count: Int, seed: UInt64 = 2026) -> [ConformanceCase] {
    var random = SplitMix64(seed: seed)
    return (0..<count).map { _ in mixed(&random) }
  }

  private static func mixed(_ random: inout SplitMix64) -> ConformanceCase {
    func pick<Choices: Collection>(_ choices: Choices) -> Choices.Element {
      choices[choices.index(choices.startIndex, offsetBy: Int.random(in: 0..<choices.count, using: &random))]
    }
    func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }
    let size = Size(
      width: Int.random(in: 8...90, using: &random), height: Int.random(in: 8...90, using: &random))
    let orientation = pick(Orientation.allCases)
    let upright = orientation.seen(size)
    var view = ViewConfiguration(
      rotation: pick(Rotation.allCases), mirroring: pick(Mirroring.allCases),
      width: Int.random(in: 1...150, using: &random), height: Int.random(in: 1...110, using: &random),
      contentMode: pick(ContentMode.allCases), background: orange,
      filter: pick([.auto, .area, .bilinear, .bicubic, .nearest]))
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      view.lens = Lens(.curve(pick(Lens.Curve.allCases)), fov: number(100...180))
      view.projection = Projection(
        pick(Projection.Shape.allCases), yaw: number(-180...180), pitch: number(-90...90),
        roll: number(-180...180), hfov: number(20...170))
    case 1: view.angle = number(-45...45)
    default:
      let (width, height) = (Double(upright.width), Double(upright.height))
      func corner(_ x: Double, _ y: Double) -> SIMD2<Int> {
        let moved = SIMD2(x * width + number(-0.2...0.2) * width, y * height + number(-0.2...0.2) * height)
        return [Int(moved.x.rounded()), Int(moved.y.rounded())]
      }
      view.corners = Corners(
        topLeft: corner(0, 0), topRight: corner(1, 0), bottomRight: corner(1, 1), bottomLeft: corner(0, 1))
    }
    let color = ColorDescription(
      matrix: pick(ColorDescription.Matrix.allCases),
      range: pick(ColorDescription.QuantizationRange.allCases),
      siting: pick(ColorDescription.ChromaSiting.allCases))
    return ConformanceCase(
      "warps mixed",
      Frame.Format(pick(PixelFormat.allCases), size, color: color, orientation: orientation),
      pick(FrameContent.allCases), seed: random.next() % 1000, view, as: pick(Picture.Format.allCases))
  }
}
