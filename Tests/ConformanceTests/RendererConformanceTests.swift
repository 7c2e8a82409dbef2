// One suite for any device: the GPU's renderer against the reference, case by case.
import Foundation
import GLPreview
import ReferenceRenderer
import Testing

@testable import Conformance

@Suite("Renderer conformance")
struct RendererConformanceTests {
  private static let groups = Dictionary(grouping: ConformanceSuite.cases, by: \.group)
  /// Whether every case is drawn twice, as by `make test-drivers`, which names a driver. Otherwise every third case is.
  private static let drawsAllTwice = ProcessInfo.processInfo.environment["GLPREVIEW_TEST_GPU"] != nil

  /// A case is drawn by the programs for all ratios. If it is drawn twice, a program for its own ratio is compiled for the
  /// second picture, which takes most of the time.
  @Test("the GPU renders every case within its error bound", arguments: groups.keys.sorted())
  func gpu(group: String) async throws {
    let device = try await GPUDevice.chooseForGL()
    var tuning = device.tuning
    tuning.specialisesAfter = 1
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    let planner = RenderPlanner(tuning: tuning)
    // Groups begin at different thirds: cases of one kind have the same place in several groups.
    let start = group.utf8.reduce(0) { $0 + Int($1) }

    for (index, conformanceCase) in (RendererConformanceTests.groups[group] ?? []).enumerated() {
      let isTwice = RendererConformanceTests.drawsAllTwice || (start + index) % 3 == 0
      let subject = conformanceCase.subject
      let frames = try conformanceCase.frames()
      let expected = try await ReferenceRenderer().picture(of: subject, frames, planner)
      let actual = try await renderer.picture(of: subject, frames, planner)
      let again = try await isTwice ? renderer.picture(of: subject, frames, planner) : actual
      let difference = PictureDifference(expected: expected, actual: actual)
      let isRepeatable = PictureDifference(expected: actual, actual: again).worst == 0
      guard difference.worst > conformanceCase.bound || !isRepeatable else { continue }
      let place = try GoldenFiles.leave(
        group.replacing(" ", with: "-"), expected: expected, actual: actual)
      let sample = difference.worstSample.map { "\($0)" } ?? ""
      let change = isRepeatable ? "" : ", and changes when it is drawn again"
      Issue.record("\(conformanceCase) is off by \(difference.worst): \(sample)\(change); see \(place)")
    }

    await renderer.close()
  }

  /// What another device would be tuned to: the tests' own device draws it all the same. Of every group some cases, and
  /// those by chance.
  @Test(
    "the GPU renders within the error bounds when tuned as hardware is (texel boxes, buffers)",
    arguments: groups.keys.sorted())
  func asHardware(group: String) async throws {
    let device = try await GPUDevice.chooseForGL()
    let tuning = RenderTuning(
      maximumTargetSide: device.tuning.maximumTargetSide, boxes: .texels,
      transfer: .buffered(framesInFlight: 3), timesPasses: true, discardsTargets: true)
    let renderer = try await GLRenderer.open(on: device, tuning: tuning)
    let run = ConformanceRun(renderer, tuning: tuning)

    for (index, conformanceCase) in (RendererConformanceTests.groups[group] ?? []).enumerated()
    where index % 5 == 0 {
      let result = try await run.result(of: conformanceCase)
      let sample = result.difference.worstSample.map { "\($0)" } ?? ""
      #expect(
        result.isWithinBound, "\(conformanceCase) is off by \(result.difference.worst): \(sample)")
    }

    await renderer.close()
  }

  @Test("GLRenderer and ReferenceRenderer are different types")
  func twoRenderers() {
    #expect(ObjectIdentifier(GLRenderer.self) != ObjectIdentifier(ReferenceRenderer.self))
  }

  @Test("a renderer with an error of 2 in one channel exceeds the error bound")
  func wrongRenderer() async throws {
    let run = ConformanceRun(WrongRenderer(), tuning: .unlimited)
    let result = try await run.result(of: ConformanceSuite.cases[0])
    #expect(!result.isWithinBound)
    #expect(result.difference.worst == 2)
    #expect(result.difference.differing == 1)
  }

  @Test("one renderer draws 300 plans of different widths within the error bound")
  func manyPlans() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let run = ConformanceRun(renderer, tuning: renderer.tuning)
    let format = Frame.Format(
      .nv12, Size(width: 9, height: 7), color: ColorDescription(matrix: .bt601, range: .full, siting: .left))

    for width in 1...300 {
      let view = ViewConfiguration(width: width, height: 1, contentMode: .stretch)
      let result = try await run.result(
        of: ConformanceCase("many", format, .noise, view))
      #expect(result.isWithinBound, "\(result.conformanceCase)")
    }

    await renderer.close()
  }

  @Test("many views of one frame are within the error bound and equal each view rendered alone")
  func manyViews() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let planner = RenderPlanner(tuning: renderer.tuning)
    let frame = try Frame.synthetic(
      Frame.Format(
        .nv12, Size(width: 96, height: 64),
        color: ColorDescription(matrix: .bt601, range: .limited, siting: .left)), .noise, seed: 3)
    // Thumbnails of others, turned and mirrored copies, and what has nothing to share.
    let sizes = [
      (48, 32), (24, 16), (12, 8), (6, 4), (32, 48), (16, 24), (40, 40), (20, 20), (10, 10), (33, 21),
    ]
    let requests = sizes.enumerated().flatMap { index, size in
      Rotation.allCases.flatMap { rotation in
        Mirroring.allCases.map { mirroring in
          ViewRequest(
            ViewConfiguration(
              name: "v\(index)", rotation: rotation, mirroring: mirroring, width: size.0, height: size.1),
            as: index == 9 ? .rgba : .ycbcr(index % 2 == 0 ? .yuv420 : .yuv422))
        }
      }
    }

    let plan = try planner.plan(frame.format, requests)
    let pictures = try await renderer.render(frame, plan)

    for (request, (expected, actual)) in zip(requests, zip(ReferenceRenderer().render(frame, plan), pictures))
    {
      let difference = PictureDifference(expected: expected, actual: actual)
      #expect(difference.worst <= 1, "\(request.view): \(difference.worstSample.map { "\($0)" } ?? "")")
      let alone = try await renderer.render(frame, planner.plan(frame.format, [request]))[0]
      let change = PictureDifference(expected: alone, actual: actual)
      #expect(change.worst == 0, "\(request.view) changes with what else is asked for")
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

  func render(_ frames: [Frame?], _ plan: ScenePlan) -> Picture { ReferenceRenderer().render(frames, plan) }
}
