// One suite for any device: the GPU's renderer against the reference, case by case.
import Conformance
import GLPreview
import ReferenceRenderer
import Testing

@Suite("Renderer conformance")
struct RendererConformanceTests {
  private static let groups = Dictionary(grouping: ConformanceSuite.cases, by: \.group)

  @Test("the GPU keeps the bound of every case", arguments: groups.keys.sorted())
  func gpu(group: String) async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.choose())
    let run = ConformanceRun(renderer, tuning: renderer.tuning)
    for conformanceCase in RendererConformanceTests.groups[group] ?? [] {
      let result = try await run.result(of: conformanceCase)
      guard !result.isWithinBound else { continue }
      let place = try GoldenFiles.leave(
        group.replacing(" ", with: "-"), expected: result.expected, actual: result.actual)
      let sample = result.difference.worstSample.map { "\($0)" } ?? ""
      Issue.record("\(conformanceCase) is off by \(result.difference.worst): \(sample); see \(place)")
    }
    await renderer.close()
  }

  @Test("two renderers are compared, not one with itself")
  func twoRenderers() {
    #expect(ObjectIdentifier(GLRenderer.self) != ObjectIdentifier(ReferenceRenderer.self))
  }

  @Test("a renderer that is wrong by two in one channel breaks a bound")
  func wrongRenderer() async throws {
    let run = ConformanceRun(WrongRenderer(), tuning: .unlimited)
    let result = try await run.result(of: ConformanceSuite.cases[0])
    #expect(!result.isWithinBound)
    #expect(result.difference.worst == 2)
    #expect(result.difference.differing == 1)
  }

  @Test("more plans than tables are kept for come out right in one renderer")
  func manyPlans() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.choose())
    let run = ConformanceRun(renderer, tuning: renderer.tuning)
    let format = FrameFormat(
      .nv12, Size(width: 9, height: 7), color: ColorDescription(matrix: .bt601, range: .full, siting: .left))
    for width in 1...300 {
      let view = ViewConfiguration(width: width, height: 1, contentMode: .stretch)
      let result = try await run.result(
        of: ConformanceCase("many", format, .noise, ViewRequest(view, as: .rgba)))
      #expect(result.isWithinBound, "\(result.conformanceCase)")
    }
    await renderer.close()
  }

  @Test("many views of one frame are the same as each view by itself")
  func manyViews() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.choose())
    let planner = RenderPlanner(tuning: renderer.tuning)
    let frame = try TestCard.frame(
      FrameFormat(.i420, Size(width: 47, height: 35), color: .jfif, orientation: .upright))
    let requests = (1...60).map { index in
      ViewRequest(
        ViewConfiguration(
          name: "v\(index)", rotation: Rotation.allCases[index % 4], width: index, height: 61 - index,
          contentMode: ContentMode.allCases[index % 4], filter: Filter.allCases[index % 5]),
        as: index % 2 == 0 ? .rgba : .ycbcr(.yuv420))
    }
    let together = try await renderer.render(frame, planner.plan(frame.format, requests))
    for (request, picture) in zip(requests, together) {
      let alone = try await renderer.render(frame, planner.plan(frame.format, [request]))[0]
      #expect(PictureDifference(expected: alone, actual: picture).worst == 0, "\(request.view.name)")
    }
    await renderer.close()
  }
}

/// Right but for one channel of one pixel.
private struct WrongRenderer: Renderer {
  typealias Failure = Never

  func render(_ frame: Frame, _ plan: RenderPlan) -> [Picture] {
    ReferenceRenderer().render(frame, plan).map { picture in
      var bytes = picture.bytes
      bytes[4] = bytes[4] > 127 ? bytes[4] - 2 : bytes[4] + 2
      return Picture(size: picture.size, format: picture.format, planes: picture.planes, bytes: bytes)
    }
  }
}
