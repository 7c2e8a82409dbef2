// Warped views drawn by OpenGL against the reference: random formats, warps, filters and sizes.
import Conformance
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Warped views on the GPU", .timeLimit(.minutes(15)))
struct GPUWarpTests {
  /// The ways in which devices are tuned.
  enum Tuning: String, CaseIterable {
    /// The tests' own device: tables in buffers, on software.
    case device
    /// Tables in textures, frames in flight.
    case hardware
    /// The same where other views are drawn by compute shaders.
    case compute

    func tuning(of device: GPUDevice) -> RenderTuning {
      let side = device.tuning.maximumTargetSide
      return switch self {
      case .device: device.tuning
      case .hardware:
        RenderTuning(
          maximumTargetSide: side, boxes: .texels, transfer: .buffered(framesInFlight: 3),
          discardsTargets: true)
      case .compute:
        RenderTuning(
          maximumTargetSide: side, boxes: .texels, transfer: .buffered(framesInFlight: 3), passes: .compute)
      }
    }
  }

  private static let outputs: [Picture.Format] = [
    .rgba, .ycbcr(.yuv420), .ycbcr(.yuv422), .ycbcr(.yuv444), .video,
  ]

  @Test(
    "random warped views of every pixel format are within 1 of the reference",
    arguments: Tuning.allCases, PixelFormat.allCases)
  func random(kind: Tuning, pixelFormat: PixelFormat) async throws {
    let device = try await GPUDevice.chooseForGL()
    guard kind != .compute || device.hasComputeShaders else { return }
    let tuning = kind.tuning(of: device)
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    let run = ConformanceRun(renderer, tuning: tuning)
    var random = SeededGenerator(seed: UInt64(pixelFormat.rawValue.utf8.reduce(7) { $0 * 31 + Int($1) }))

    // The cases of `ConformanceSuite` are drawn by all kinds of devices, too.
    for _ in 0..<(kind == .device ? 4 : 1) {
      let size = Size(width: random.pick(33...121), height: random.pick(33...97))
      let format = Frame.Format(
        pixelFormat, size,
        color: ColorDescription(
          matrix: random.oneOf(ColorDescription.Matrix.allCases),
          range: random.oneOf(ColorDescription.QuantizationRange.allCases),
          siting: random.oneOf(ColorDescription.ChromaSiting.allCases)),
        orientation: random.oneOf([.upright, .upright, Orientation(.clockwise90), Orientation(.half)]))
      let view = Self.view(of: format.uprightSize, &random)
      let output = random.oneOf(Self.outputs)
      let content = random.oneOf(FrameContent.allCases)
      let result = try await run.result(
        of: ConformanceCase("warps", format, content, seed: random.next(), view, as: output))
      let sample = result.difference.worstSample.map { "\($0)" } ?? ""
      #expect(
        result.isWithinBound,
        "\(format), \(content), \(view) to \(output) is off by \(result.difference.worst): \(sample)")
    }

    await renderer.close()
  }

  @Test(
    "views that shrink so far that an output has eight positions along each axis", arguments: Tuning.allCases)
  func shrunk(kind: Tuning) async throws {
    let device = try await GPUDevice.chooseForGL()
    guard kind != .compute || device.hasComputeShaders else { return }
    let tuning = kind.tuning(of: device)
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    let run = ConformanceRun(renderer, tuning: tuning)

    for pixelFormat in [PixelFormat.nv12, .yuyv, .bgra] {
      let format = Frame.Format(
        pixelFormat, Size(width: 401, height: 300),
        color: ColorDescription(matrix: .bt709, range: .limited, siting: .left))
      for filter in [Filter.area, .bicubic] {
        let views = [
          ViewConfiguration(width: 21, height: 13, filter: filter, angle: 17),
          ViewConfiguration(
            width: 23, height: 17, background: .white, filter: filter, lens: Lens(.fisheye(), fov: 180),
            projection: Projection(pitch: 20, hfov: 140)),
        ]
        for view in views {
          for output in [Picture.Format.rgba, .ycbcr(.yuv420)] {
            let result = try await run.result(
              of: ConformanceCase("warps", format, .extremes, seed: 4, view, as: output))
            let sample = result.difference.worstSample.map { "\($0)" } ?? ""
            #expect(
              result.isWithinBound, "\(view) to \(output) is off by \(result.difference.worst): \(sample)")
          }
        }
      }
    }

    await renderer.close()
  }

  /// Returns a warped view of one of the three kinds.
  private static func view(of size: Size, _ random: inout SeededGenerator) -> ViewConfiguration {
    var view = ViewConfiguration(
      rotation: random.oneOf(Rotation.allCases), mirroring: random.oneOf(Mirroring.allCases),
      width: random.pick(3...90), height: random.pick(3...70),
      contentMode: random.oneOf(ContentMode.allCases),
      background: RGBColor(red: 200, green: UInt8(random.pick(0...255)), blue: 30),
      filter: random.oneOf([.auto, .area, .bicubic, .bilinear, .nearest]))
    if random.happens(0.2) { view.height = nil }
    switch random.pick(0...2) {
    case 0: view.corners = corners(of: size, &random)
    case 1:
      view.angle = Double(random.pick(-450...450)) / 10
      if view.angle == 0 { view.angle = 7 }
      view.crop = random.happens(0.5) ? Rectangle(x: 5, y: 3, width: 27, height: 25) : nil
    default:
      view.lens = random.oneOf([
        Lens(.fisheye(), fov: 190), Lens(.curve(.equisolid), fov: 170),
        Lens(.pinhole(distortion: [-0.1, 0.01]), fov: 80),
      ])
      let shape = random.oneOf(Projection.Shape.allCases)
      view.projection = Projection(
        shape, yaw: Double(random.pick(-60...60)), pitch: Double(random.pick(-60...60)),
        roll: Double(random.pick(-180...180)), hfov: Double(random.pick(20...160)))
    }
    return view
  }

  /// Returns a quadrilateral whose corners lie near those of the picture, inside or outside.
  private static func corners(of size: Size, _ random: inout SeededGenerator) -> Corners {
    func near(_ x: Int, _ y: Int) -> SIMD2<Int> {
      let (inwardsX, inwardsY) = (random.pick(-10...20), random.pick(-10...20))
      return [
        size.width * (x == 0 ? inwardsX : 100 - inwardsX) / 100,
        size.height * (y == 0 ? inwardsY : 100 - inwardsY) / 100,
      ]
    }
    return Corners(topLeft: near(0, 0), topRight: near(1, 0), bottomRight: near(1, 1), bottomLeft: near(0, 1))
  }
}

extension GPUDevice {
  fileprivate var hasComputeShaders: Bool { (driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 1) }
}
