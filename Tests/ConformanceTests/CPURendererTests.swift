// The CPU's renderer against the reference, in both forms of its vector code.
import CPURenderer
import PreviewCore
import ReferenceRenderer
import Testing

@testable import Conformance

@Suite("CPU renderer")
struct CPURendererTests {
  private static let groups = Dictionary(grouping: ConformanceSuite.cases, by: \.group)

  /// The reference draws each case once, for all instruction sets.
  @Test("the CPU renders every case within its error bound", arguments: groups.keys.sorted())
  func conformance(group: String) async throws {
    let planner = RenderPlanner(tuning: CPURenderer.tuning)
    let renderers = CPURenderer.Instructions.available.map { ($0, CPURenderer(instructions: $0)) }

    for conformanceCase in CPURendererTests.groups[group] ?? [] {
      let subject = conformanceCase.subject
      let frames = try conformanceCase.frames()
      let expected = try await ReferenceRenderer().picture(of: subject, frames, planner)
      for (instructions, renderer) in renderers {
        let actual = try await renderer.picture(of: subject, frames, planner)
        let again = try await renderer.picture(of: subject, frames, planner)
        let difference = PictureDifference(expected: expected, actual: actual)
        let isRepeatable = PictureDifference(expected: actual, actual: again).worst == 0
        guard difference.worst > conformanceCase.bound || !isRepeatable else { continue }
        let place = try GoldenFiles.leave(
          group.replacing(" ", with: "-") + "-cpu", expected: expected, actual: actual)
        let sample = difference.worstSample.map { "\($0)" } ?? ""
        let change = isRepeatable ? "" : ", and changes when it is drawn again"
        Issue.record(
          "\(instructions): \(conformanceCase) is off by \(difference.worst): \(sample)\(change); see \(place)"
        )
      }
    }
  }

  @Test("the CPU renders every golden picture within its error bound")
  func golden() async throws {
    let renderer = CPURenderer()
    let planner = RenderPlanner(tuning: CPURenderer.tuning)
    for golden in GoldenSuite.cases {
      let expected = try #require(
        try GoldenFiles.picture(golden.name), "no golden picture \(golden.name).png")
      let actual = try await renderer.picture(of: golden.subject, golden.frames(), planner)
      let difference = PictureDifference(expected: expected, actual: actual.flattened)
      #expect(difference.worst <= golden.bound, "\(golden.name) differs by \(difference.worst)")
    }
  }

  @Test("a frame with alpha has a plan for opaque frames, whatever the filter", arguments: Filter.allCases)
  func opaque(filter: Filter) throws {
    let format = Frame.Format(.rgba, Size(width: 64, height: 48), color: .jfif)
    let view = ViewConfiguration(name: "a", width: 20, height: 15, filter: filter)
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(format, [ViewRequest(view, as: .rgba)])
    #expect(plan.drawing?.ofOpaque != nil)
  }

  @Test("a single row with alpha is blended wherever a view reads it", arguments: Filter.allCases)
  func rowWithAlpha(filter: Filter) throws {
    let format = Frame.Format(.rgba, Size(width: 20, height: 32), color: .jfif)
    let views = [
      ViewConfiguration(name: "a", width: 7, height: 5, contentMode: .stretch, filter: filter),
      ViewConfiguration(
        name: "b", crop: Rectangle(x: 3, y: 9, width: 14, height: 20), rotation: .clockwise90,
        mirroring: .horizontal, width: 9, height: 4, contentMode: .stretch, filter: filter),
    ]
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      format, views.map { ViewRequest($0, as: .rgba) })
    let noise = try Frame.synthetic(format, .noise, seed: 3).bytes
    for row in 0..<32 {
      var bytes = noise
      for pixel in 0..<20 * 32 { bytes[pixel * 4 + 3] = pixel / 20 == row ? 90 : 255 }
      let frame = try Frame(tight: format, bytes: bytes)
      let pictures = try CPURenderer().render(frame, plan)
      for (expected, actual) in zip(ReferenceRenderer().render(frame, plan), pictures) {
        #expect(PictureDifference(expected: expected, actual: actual).worst <= 1, "row \(row)")
      }
    }
  }

  @Test(
    "a view of the same size has the codes of the frame",
    arguments: [PixelFormat.rgba, .rgbx, .bgra, .i420, .nv12])
  func sameSize(pixelFormat: PixelFormat) throws {
    let format = Frame.Format(pixelFormat, Size(width: 37, height: 22), color: .jfif)
    let frame = try Frame.synthetic(format, .noise, seed: 4)
    let output: Picture.Format = pixelFormat.isRGB ? .rgba : .ycbcr(.yuv420)
    let crop = Rectangle(x: 2, y: 4, width: 30, height: 16)
    let views = Mirroring.allCases.flatMap { mirroring in
      [nil, crop].map {
        ViewRequest(ViewConfiguration(name: "a", crop: $0, mirroring: mirroring), as: output)
      }
    }
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(format, views)
    for (expected, actual) in zip(
      ReferenceRenderer().render(frame, plan), try CPURenderer().render(frame, plan))
    {
      // Frames with alpha are blended, which may differ by one.
      let bound = pixelFormat == .rgba || pixelFormat == .bgra ? 1 : 0
      #expect(PictureDifference(expected: expected, actual: actual).worst <= bound)
    }
  }

  @Test("one thread and several draw the same codes", arguments: [Filter.auto, .lanczos, .bilinear])
  func threads(filter: Filter) throws {
    let format = Frame.Format(
      .nv12, Size(width: 2400, height: 1600),
      color: ColorDescription(matrix: .bt709, range: .limited, siting: .left))
    let frame = try Frame.synthetic(format, .noise, seed: 5)
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      format,
      [
        ViewRequest(ViewConfiguration(name: "a", width: 500, height: 333, filter: filter), as: .rgba),
        ViewRequest(ViewConfiguration(name: "b", rotation: .clockwise90, width: 400), as: .ycbcr(.yuv420)),
      ])

    let one = try CPURenderer(threads: 1).render(frame, plan)
    let several = try CPURenderer(threads: 3).render(frame, plan)

    #expect(one == several)
  }

  @Test("every instruction set draws the same codes", arguments: [Filter.Light.encoded, .linear])
  func instructions(light: Filter.Light) throws {
    for pixelFormat in PixelFormat.allCases {
      let format = Frame.Format(
        pixelFormat, Size(width: 97, height: 61),
        color: ColorDescription(matrix: .bt709, range: .limited, siting: .left))
      let frame = try Frame.synthetic(format, .noise, seed: 8)
      let view = ViewConfiguration(
        rotation: .clockwise90, width: 40, height: 31, filter: .lanczos, light: light)
      let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
        format, [ViewRequest(view, as: .rgba), ViewRequest(view, as: .ycbcr(.yuv420))])
      let pictures = try CPURenderer.Instructions.available.map {
        try CPURenderer(instructions: $0).render(frame, plan)
      }
      #expect(pictures.allSatisfy { $0 == pictures[0] }, "\(pixelFormat)")
    }
  }

  @Test("many tasks draw with one renderer at the same time, each its own picture")
  func concurrent() async throws {
    let renderer = CPURenderer()
    let format = Frame.Format(
      .i420, Size(width: 160, height: 120),
      color: ColorDescription(matrix: .bt601, range: .full, siting: .centred))
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      format, [ViewRequest(ViewConfiguration(width: 37, height: 29), as: .rgba)])
    let frames = try (0..<8).map { try Frame.synthetic(format, .noise, seed: $0) }
    let expected = frames.map { ReferenceRenderer().render($0, plan)[0] }

    try await withThrowingTaskGroup(of: (Int, Picture).self) { group in
      for index in 0..<64 {
        group.addTask { (index % 8, try renderer.render(frames[index % 8], plan)[0]) }
      }
      for try await (index, picture) in group {
        #expect(PictureDifference(expected: expected[index], actual: picture).worst <= 1)
      }
    }
  }

  @Test("a plan for other frames is refused")
  func otherFrames() throws {
    let color = ColorDescription(matrix: .bt601, range: .full, siting: .centred)
    let planned = Frame.Format(.i420, Size(width: 16, height: 16), color: color)
    let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(
      planned, [ViewRequest(ViewConfiguration(), as: .rgba)])
    let other = try Frame.synthetic(
      Frame.Format(.i420, Size(width: 18, height: 16), color: color), .noise, seed: 1)
    #expect(throws: CPUError.self) { try CPURenderer().render(other, plan) }
  }

  @Test("the largest overshoot of a kernel saturates instead of wrapping", arguments: PixelFormat.allCases)
  func extremes(pixelFormat: PixelFormat) async throws {
    let format = Frame.Format(
      pixelFormat, Size(width: 64, height: 48),
      color: ColorDescription(matrix: .bt2020, range: .limited, siting: .left))
    // The largest picture, which has most positions between samples, takes most of the time.
    let large = [PixelFormat.nv12, .rgb24].contains(pixelFormat) ? (200, 150) : (80, 60)
    for filter in [Filter.lanczos, .bicubic, .mitchell] {
      for (width, height) in [(62, 46), (31, 23), (5, 3), large] {
        let view = ViewConfiguration(width: width, height: height, contentMode: .stretch, filter: filter)
        let frame = try Frame.synthetic(format, .extremes, seed: UInt64(width))
        let plan = try RenderPlanner(tuning: CPURenderer.tuning).plan(format, [ViewRequest(view, as: .rgba)])
        let difference = PictureDifference(
          expected: ReferenceRenderer().render(frame, plan)[0],
          actual: try CPURenderer().render(frame, plan)[0])
        #expect(difference.worst <= 1, "\(filter) to \(width)x\(height)")
      }
    }
  }
}
