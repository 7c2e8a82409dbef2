// Compute shaders draw what fragment shaders draw.
import Conformance
import ReferenceRenderer
import Testing

@testable import GLPreview

@Suite("Compute shaders", .timeLimit(.minutes(15)))
struct ComputeTests {
  private static let groups = Dictionary(grouping: ConformanceSuite.cases, by: \.group)

  private static func renderer(
    _ passes: PassMethod, _ transfer: FrameTransfer = .direct
  ) async throws -> GLRenderer {
    let device = try await GPUDevice.chooseForGL()
    return try await GLRenderer.open(
      on: device,
      tuning: RenderTuning(
        maximumTargetSide: device.tuning.maximumTargetSide, boxes: .texels, transfer: transfer, passes: passes
      ))
  }

  /// Whether the tests' device has compute shaders.
  static var isPossible: Bool {
    get async throws {
      (try await GPUDevice.chooseForGL().driver?.version ?? GLVersion(3, 0)) >= GLVersion(3, 1)
    }
  }

  @Test(
    "compute shaders draw every fifth case of each kind within its error bound",
    arguments: groups.keys.sorted())
  func conformance(group: String) async throws {
    guard try await Self.isPossible else { return }
    let renderer = try await Self.renderer(.compute, .buffered(framesInFlight: 3))
    let run = ConformanceRun(renderer, tuning: renderer.tuning)
    for (index, conformanceCase) in (Self.groups[group] ?? []).enumerated() where index % 5 == 1 {
      let result = try await run.result(of: conformanceCase)
      let sample = result.difference.worstSample.map { "\($0)" } ?? ""
      #expect(
        result.isWithinBound, "\(conformanceCase) is off by \(result.difference.worst): \(sample)")
      #expect(result.isRepeatable, "\(conformanceCase)")
    }
    await renderer.close()
  }

  private static let views: [ViewConfiguration] = [
    ViewConfiguration(width: 101, height: 57),
    ViewConfiguration(
      rotation: .clockwise90, mirroring: .horizontal, width: 40, height: 90, contentMode: .fill),
    ViewConfiguration(width: 64, height: 64, contentMode: .fit, filter: .lanczos),
    ViewConfiguration(
      mirroring: .horizontal, width: 333, height: 190, contentMode: .stretch, filter: .bicubic),
    ViewConfiguration(width: 16, height: 9, contentMode: .stretch),
    ViewConfiguration(rotation: .half, width: 97, filter: .bilinear),
    ViewConfiguration(width: 75, filter: .nearest),
    ViewConfiguration(width: 90, height: 50, contentMode: .fit, light: .linear),
  ]

  @Test(
    "compute shaders alone draw views of all formats, and the pictures are those of fragment shaders",
    arguments: PixelFormat.allCases)
  func identical(pixelFormat: PixelFormat) async throws {
    guard try await Self.isPossible else { return }
    let compute = try await Self.renderer(.compute)
    let fragments = try await Self.renderer(.fragments)
    let format = Frame.Format(
      pixelFormat, Size(width: 162, height: 94),
      color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
    let frame = try Frame.synthetic(format, .noise, seed: 5, padding: 3)
    var outputs = [Picture.Format.ycbcr(.yuv420), .ycbcr(.yuv444), .rgba]
    // A format of each kind is drawn to all of them, each other format to one, in turn.
    if ![PixelFormat.nv12, .yuyv, .rgba, .grey].contains(pixelFormat) {
      let number = PixelFormat.allCases.firstIndex(of: pixelFormat) ?? 0
      outputs = [outputs[number % outputs.count]]
    }
    for view in Self.views {
      for output in outputs {
        let plan = try compute.plan(format, [view], as: output)
        let before = await compute.countPasses()
        let drawn = try await compute.render(frame, plan)
        let passes = await compute.countPasses()
        #expect(try await fragments.render(frame, plan) == drawn, "\(pixelFormat), \(view) to \(output)")
        #expect(passes.compute > before.compute, "\(pixelFormat), \(view) to \(output)")
        // Compositions are drawn by fragment shaders: here, planes that are made of R'G'B' pixels.
        let isComposed = plan.views.contains { $0.composition != nil }
        #expect(isComposed || passes.fragments == before.fragments, "\(pixelFormat), \(view) to \(output)")
      }
    }
    #expect(await fragments.countPasses().compute == 0)
    await compute.close()
    await fragments.close()
  }
  @Test(
    "pictures that compute shaders write to a buffer are those of targets",
    arguments: [PixelFormat.nv12, .i420, .yuyv, .rgba, .grey])
  func writtenToBuffer(pixelFormat: PixelFormat) async throws {
    guard try await Self.isPossible else { return }
    let compute = try await Self.renderer(.compute, .buffered(framesInFlight: 3))
    let fragments = try await Self.renderer(.fragments)
    let format = Frame.Format(
      pixelFormat, Size(width: 162, height: 94),
      color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
    // One view twice, and one turned that another view shows upright: their drawings are shared.
    let views =
      Self.views + [Self.views[0], ViewConfiguration(rotation: .clockwise90, width: 57, height: 101)]
    let one = ViewRequest(Self.views[7], as: .ycbcr(.yuv420))
    let sets: [[ViewRequest]] = [
      views.filter { $0.light == .encoded }.map { ViewRequest($0, as: .ycbcr(.yuv420)) },
      views.map { ViewRequest($0, as: .rgba) },
      [ViewRequest(Self.views[0], as: .ycbcr(.yuv444)), ViewRequest(Self.views[0], as: .rgba)],
      // One composed picture among others.
      [ViewRequest(Self.views[1], as: .rgba), one, ViewRequest(Self.views[2], as: .ycbcr(.yuv420))],
    ]
    for (set, requests) in sets.enumerated() {
      let plan = try RenderPlanner(tuning: compute.tuning).plan(format, requests)
      // Several at once, once more than there are places, and again in buffers that were used before, each of another
      // frame.
      for round in 0..<2 {
        let frames = try (0..<(set == 2 ? 4 : 2)).map {
          try Frame.synthetic(format, .noise, seed: UInt64(set * 8 + round * 4 + $0))
        }
        let drawn = try await withThrowingTaskGroup(of: (Int, [Picture]).self) { group in
          for (index, frame) in frames.enumerated() {
            group.addTask { (index, try await compute.render(frame, plan)) }
          }
          return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (index, frame) in frames.enumerated() {
          #expect(
            try await drawn[index] == fragments.render(frame, plan), "\(pixelFormat), \(requests.count)")
        }
      }
    }
    let passes = await compute.countPasses()
    #expect(passes.toBuffer > 0 && passes.toBuffer < passes.compute)
    await compute.close()
    await fragments.close()
  }

  @Test(
    "rows of a frame that is wider than twice the largest texture are summed into fewer columns",
    arguments: PassMethod.allCases)
  func wide(method: PassMethod) async throws {
    guard try await Self.isPossible else { return }
    let device = try await GPUDevice.chooseForGL()
    let renderer = try await GLRenderer.open(
      on: device, tuning: RenderTuning(maximumTargetSide: 64, boxes: .texels, passes: method))
    let format = Frame.Format(.rgba, Size(width: 140, height: 20), color: .jfif)
    let frame = try Frame.synthetic(format, .noise, seed: 9)
    let plan = try renderer.plan(
      format, [ViewConfiguration(width: 60, height: 61, contentMode: .stretch, filter: .bicubic)], as: .rgba)
    let (drawn, expected) = (try await renderer.render(frame, plan), ReferenceRenderer().render(frame, plan))
    #expect(PictureDifference(expected: expected[0], actual: drawn[0]).worst <= 1)
    #expect(await renderer.countPasses().compute == (method == .compute ? 1 : 0))
    await renderer.close()
  }

  @Test("a picture whose tile of sums does not fit into shared memory is drawn by fragment shaders")
  func tooWide() async throws {
    guard try await Self.isPossible else { return }
    let compute = try await Self.renderer(.compute, .buffered(framesInFlight: 3))
    let fragments = try await Self.renderer(.fragments)
    // One output is made of 8,100 pixels of four bytes, which are 4,050 texels of sums.
    let format = Frame.Format(.rgba, Size(width: 8100, height: 16), color: .jfif)
    let frame = try Frame.synthetic(format, .noise, seed: 7)
    let plan = try compute.plan(
      format, [ViewConfiguration(width: 2, height: 2, contentMode: .stretch)], as: .rgba)
    #expect(try await compute.render(frame, plan) == fragments.render(frame, plan))
    let passes = await compute.countPasses()
    #expect(passes.compute == 0 && passes.fragments == 2)
    await compute.close()
    await fragments.close()
  }

  @Test(
    "where the driver refuses a compute shader, fragment shaders draw instead of it alone",
    arguments: [
      ["passes.comp"], ["sample.frag"], ["turn.frag"], ["passes.comp", "sample.frag", "turn.frag"],
    ])
  func refused(fileNames: Set<String>) async throws {
    guard try await Self.isPossible else { return }
    let compute = try await Self.renderer(.compute, .buffered(framesInFlight: 3))
    let fragments = try await Self.renderer(.fragments)
    await compute.refuseComputing(fileNames)
    let format = Frame.Format(.nv12, Size(width: 322, height: 186), color: .jfif)
    let frame = try Frame.synthetic(format, .noise, seed: 8)
    for output in [Picture.Format.ycbcr(.yuv420), .rgba] {
      let plan = try RenderPlanner(tuning: compute.tuning).plan(
        format, Self.views.filter { $0.light == .encoded }.map { ViewRequest($0, as: output) })
      // A driver may round the two kinds of shaders differently.
      let (mixed, alone) = (try await compute.render(frame, plan), try await fragments.render(frame, plan))
      for (picture, expected) in zip(mixed, alone) {
        #expect(PictureDifference(expected: expected, actual: picture).worst <= 1)
      }
    }
    let passes = await compute.countPasses()
    #expect((passes.compute > 0) == (fileNames.count < 3))
    #expect(passes.fragments > 0)
    await compute.removeCached()
    await compute.close()
    await fragments.close()
  }
}
