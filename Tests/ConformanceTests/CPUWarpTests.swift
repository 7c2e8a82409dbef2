// Warped views drawn by the CPU against the reference: projections, corners and free rotations, in every form
// of its vector code.
import CPURenderer
import Conformance
import PreviewCore
import ReferenceRenderer
import TestSupport
import Testing

@Suite("CPU renderer: warped views")
struct CPUWarpTests {
  private static let filters: [Filter] = [.auto, .area, .bilinear, .bicubic, .nearest]
  private static let behind = RGBColor(red: 200, green: 30, blue: 90)

  private static func format(
    _ pixelFormat: PixelFormat, _ width: Int, _ height: Int,
    siting: ColorDescription.ChromaSiting = .left, matrix: ColorDescription.Matrix = .bt709, exif: Int = 1,
    eighths: Int = 8
  ) -> Frame.Format {
    Frame.Format(
      pixelFormat, Size(width: width, height: height),
      color: ColorDescription(matrix: matrix, range: .limited, siting: siting),
      orientation: Orientation(exif: exif) ?? .upright, eighths: eighths)
  }

  /// The pictures of a view that are compared: pixels, and the planes of a JPEG unless the frame is R'G'B'.
  private static func requests(_ view: ViewConfiguration, of format: Frame.Format) -> [ViewRequest] {
    let outputs: [Picture.Format] = format.pixelFormat.isRGB ? [.rgba] : [.rgba, .ycbcr(.yuv420)]
    return outputs.map { ViewRequest(view, as: $0) }
  }

  /// Draws a view with every instruction set, and compares each picture with the reference's.
  private func compare(_ frame: Frame, _ view: ViewConfiguration) throws {
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      frame.format, CPUWarpTests.requests(view, of: frame.format))
    let expected = ReferenceRenderer().render(frame, plan)
    for instructions in CPURenderer.Instructions.available {
      let pictures = try CPURenderer(threads: 1, instructions: instructions).render(frame, plan)
      for (one, other) in zip(expected, pictures) {
        let difference = PictureDifference(expected: one, actual: other)
        let sample = difference.worstSample.map { "\($0)" } ?? ""
        #expect(difference.worst <= 1, "\(instructions) \(frame.format) \(view): \(sample)")
      }
    }
  }

  /// Corners near those of a source, inside or a little outside.
  private static func corners(of size: Size, _ random: inout SeededGenerator) -> Corners {
    let (width, height) = (size.width, size.height)
    let (nearX, nearY) = (-width / 8...width / 4, -height / 8...height / 4)
    return Corners(
      topLeft: [random.pick(nearX), random.pick(nearY)],
      topRight: [width - random.pick(nearX), random.pick(nearY)],
      bottomRight: [width - random.pick(nearX), height - random.pick(nearY)],
      bottomLeft: [random.pick(nearX), height - random.pick(nearY)])
  }

  private static func projection(_ random: inout SeededGenerator) -> Projection {
    Projection(
      random.oneOf(Projection.Shape.allCases), yaw: Double(random.pick(-70...70)),
      pitch: Double(random.pick(-70...70)), roll: Double(random.pick(-180...180)),
      hfov: Double(random.pick(20...120)))
  }

  private static func lens(_ random: inout SeededGenerator) throws -> Lens {
    try Lens(
      parsing: random.oneOf([
        "fisheye fov 190", "fisheye curve equisolid fov 185", "fisheye curve stereographic fov 150",
        "ptlens 0.01,-0.02,0.005 fov 70",
      ]))
  }

  // MARK: Formats

  @Test("random corners look as in the reference, in every format", arguments: PixelFormat.allCases)
  func corners(pixelFormat: PixelFormat) throws {
    var random = SeededGenerator(seed: 1)
    for filter in CPUWarpTests.filters {
      let format = CPUWarpTests.format(
        pixelFormat, 71, 53, siting: random.oneOf([.left, .centred]), matrix: random.oneOf([.bt601, .bt709]))
      let frame = try Frame.synthetic(format, .noise, seed: UInt64(random.pick(1...99)), padding: 3)
      let view = ViewConfiguration(
        rotation: random.oneOf([.none, .clockwise90]), mirroring: random.oneOf([.none, .horizontal]),
        width: random.pick(9...45), height: random.pick(9...45), contentMode: .fit,
        background: CPUWarpTests.behind, filter: filter,
        corners: CPUWarpTests.corners(of: format.uprightSize, &random))
      try compare(frame, view)
    }
  }

  @Test("random views through lenses look as in the reference", arguments: 1...10)
  func lenses(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    for filter in CPUWarpTests.filters {
      let pixelFormat = random.oneOf([PixelFormat.nv12, .i420, .yuyv, .yuv411p, .grey, .rgb24, .rgba])
      let side = random.pick(40...130)
      let format = CPUWarpTests.format(pixelFormat, side, side, siting: random.oneOf([.left, .centred]))
      let frame = try Frame.synthetic(format, .noise, seed: UInt64(seed), padding: 1)
      let view = ViewConfiguration(
        width: random.pick(20...60), height: random.pick(20...40), background: CPUWarpTests.behind,
        filter: filter, lens: try CPUWarpTests.lens(&random), projection: CPUWarpTests.projection(&random))
      try compare(frame, view)
    }
  }

  @Test("free rotations show the background at the corners", arguments: [ContentMode.fit, .fill, .stretch])
  func rotations(mode: ContentMode) throws {
    var random = SeededGenerator(seed: 3)
    for filter in CPUWarpTests.filters {
      let format = CPUWarpTests.format(random.oneOf([.nv12, .rgbx, .uyvy]), 64, 38)
      let frame = try Frame.synthetic(format, .noise, seed: 5)
      let view = ViewConfiguration(
        crop: random.oneOf([nil, Rectangle(x: 5, y: 3, width: 40, height: 31)]),
        rotation: random.oneOf([.none, .half, .clockwise270]), width: 51, height: 47, contentMode: mode,
        background: CPUWarpTests.behind, filter: filter, angle: Double(random.pick(-440...440)) / 10)
      try compare(frame, view)
    }
  }

  @Test("frames that were decoded smaller, or lie turned, are warped alike", arguments: [1, 3, 6, 8])
  func decoded(exif: Int) throws {
    var random = SeededGenerator(seed: UInt64(exif))
    for eighths in [1, 3, 4, 7] {
      let format = CPUWarpTests.format(.i420, 203, 150, exif: exif, eighths: eighths)
      let frame = try Frame.synthetic(format, .noise, seed: 6)
      let view = ViewConfiguration(
        width: 33, height: 24, contentMode: .stretch, filter: random.oneOf([.auto, .bilinear, .bicubic]),
        corners: CPUWarpTests.corners(of: format.uprightSize, &random))
      try compare(frame, view)
    }
  }

  // MARK: Extremes

  @Test("an output of a much larger part is the mean of up to eight by eight positions")
  func shrinking() throws {
    var random = SeededGenerator(seed: 7)
    for (width, height) in [(100, 75), (67, 20), (40, 30), (11, 60)] {
      let format = CPUWarpTests.format(random.oneOf([.nv12, .rgb24]), 400, 300)
      let frame = try Frame.synthetic(format, .noise, seed: 8)
      let view = ViewConfiguration(
        width: width, height: height, contentMode: .stretch, filter: .area,
        corners: CPUWarpTests.corners(of: format.uprightSize, &random))
      try compare(frame, view)
    }
  }

  @Test("a source of few pixels is enlarged", arguments: [(1, 1), (2, 3), (3, 2), (5, 4), (9, 1), (1, 9)])
  func smallSources(width: Int, height: Int) throws {
    for pixelFormat in [PixelFormat.nv12, .i420, .yuyv, .yuv411p, .rgb24, .rgba, .rgba64, .grey] {
      let format = CPUWarpTests.format(pixelFormat, width, height)
      let frame = try Frame.synthetic(format, .extremes, seed: 9)
      for filter in [Filter.bilinear, .bicubic, .nearest] {
        let view = ViewConfiguration(
          width: 35, height: 19, contentMode: .fit, background: CPUWarpTests.behind, filter: filter,
          corners: Corners(
            topLeft: [0, 0], topRight: [width, 0], bottomRight: [width, height], bottomLeft: [-1, height]))
        try compare(frame, view)
      }
    }
  }

  @Test("a target of few pixels is drawn", arguments: [(1, 1), (2, 1), (3, 5), (7, 8), (9, 17), (17, 3)])
  func smallTargets(width: Int, height: Int) throws {
    for filter in CPUWarpTests.filters {
      let format = CPUWarpTests.format(.nv12, 61, 43)
      let frame = try Frame.synthetic(format, .noise, seed: 10)
      let view = ViewConfiguration(
        width: width, height: height, contentMode: .stretch, filter: filter,
        corners: Corners(topLeft: [3, 2], topRight: [58, 5], bottomRight: [61, 43], bottomLeft: [0, 40]))
      try compare(frame, view)
    }
  }

  @Test("bicubic overshoot is clamped as in the reference", arguments: PixelFormat.allCases)
  func overshoot(pixelFormat: PixelFormat) throws {
    let format = CPUWarpTests.format(pixelFormat, 48, 40)
    let frame = try Frame.synthetic(format, .extremes, seed: 11, padding: 2)
    for side in [30, 90] {
      let view = ViewConfiguration(
        width: side, height: side, contentMode: .stretch, background: CPUWarpTests.behind, filter: .bicubic,
        corners: Corners(topLeft: [-2, 1], topRight: [45, -3], bottomRight: [48, 40], bottomLeft: [4, 37]))
      try compare(frame, view)
    }
  }

  // MARK: Transparency

  @Test("a frame with alpha has a plan for opaque frames")
  func opaque() throws {
    let view = ViewConfiguration(width: 20, height: 15, contentMode: .fit, angle: 20)
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      CPUWarpTests.format(.rgba, 64, 48), [ViewRequest(view, as: .rgba)])
    #expect(plan.drawing?.ofOpaque != nil)
  }

  @Test("a single row with alpha is blended wherever a view reads it", arguments: [PixelFormat.rgba, .bgra])
  func rowWithAlpha(pixelFormat: PixelFormat) throws {
    let format = CPUWarpTests.format(pixelFormat, 20, 16)
    let noise = try Frame.synthetic(format, .noise, seed: 3).bytes
    for row in 0..<16 {
      var bytes = noise
      for pixel in 0..<20 * 16 { bytes[pixel * 4 + 3] = pixel / 20 == row ? 90 : 255 }
      let frame = try Frame(tight: format, bytes: bytes)
      let view = ViewConfiguration(
        width: 14, height: 12, contentMode: .fit, background: CPUWarpTests.behind,
        filter: row % 2 == 0 ? .auto : .bicubic, angle: -17.5)
      try compare(frame, view)
    }
  }

  // MARK: Agreement

  @Test("one thread and several draw the same codes", arguments: [Filter.auto, .bicubic, .bilinear])
  func threads(filter: Filter) throws {
    let format = CPUWarpTests.format(.nv12, 1200, 1200)
    let frame = try Frame.synthetic(format, .noise, seed: 12)
    let view = ViewConfiguration(
      width: 500, height: 281, filter: filter, lens: try Lens(parsing: "fisheye fov 180"),
      projection: Projection(.flat, yaw: 40, pitch: -25, roll: 10, hfov: 110))
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      format, CPUWarpTests.requests(view, of: format))

    let one = try CPURenderer(threads: 1).render(frame, plan)
    let several = try CPURenderer(threads: 3).render(frame, plan)

    #expect(one == several)
  }

  @Test("every instruction set draws the same codes", arguments: PixelFormat.allCases)
  func instructions(pixelFormat: PixelFormat) throws {
    let format = CPUWarpTests.format(pixelFormat, 197, 161)
    let frame = try Frame.synthetic(format, .noise, seed: 13)
    for filter in CPUWarpTests.filters {
      let view = ViewConfiguration(
        width: 90, height: 71, filter: filter, lens: try Lens(parsing: "fisheye fov 200"),
        projection: Projection(.equirectangular, yaw: -20, pitch: 15, roll: 33, hfov: 160))
      let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
        format, CPUWarpTests.requests(view, of: format))
      let pictures = try CPURenderer.Instructions.available.map {
        try CPURenderer(instructions: $0).render(frame, plan)
      }
      #expect(pictures.allSatisfy { $0 == pictures[0] }, "\(filter)")
    }
  }
}
