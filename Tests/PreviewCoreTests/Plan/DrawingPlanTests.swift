// The steps in which a device draws views, as text, and what holds for all of them.
import PreviewCore
import Testing

private let camera = Frame.Format(
  .nv12, Size(width: 1920, height: 1080),
  color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))

private func plan(
  _ format: Frame.Format, _ views: [String], as output: Picture.Format = .ycbcr(.yuv420), _ boxes: BoxPacking
) throws -> RenderPlan {
  try RenderPlanner(tuning: RenderTuning(maximumTargetSide: 16384, boxes: boxes))
    .plan(format, views.map { ViewRequest(try ViewConfiguration(parsing: $0), as: output) })
}

@Suite("Drawing steps")
struct DrawingPlanTests {
  @Test("each plane is drawn as row sums, then as weighted columns of them, with Cb and Cr together")
  func twoPasses() throws {
    let steps = try plan(camera, ["a:size=640x360"], .texels).steps

    #expect(
      steps == """
        0 = rows of plane 0: box 1080->360
        1 = columns of 0: plane 640x360 of luma (box 1920->640, box 1080->360)
        2 = rows of plane 1: box 540->180
        3 = columns of 2: two planes 320x180 of chroma (box 960->320, box 540->180)
        a ycbcr420 = 1, 3, 3.1
        """)
  }

  @Test("boxes that repeat evenly are drawn in one pass, with two passes as the alternative")
  func boxes() throws {
    let steps = try plan(camera, ["a:size=640x360"], .words).steps

    #expect(
      steps == """
        1 = boxes: plane 640x360 of luma (box 1920->640, box 1080->360), otherwise
          0 = rows of plane 0: box 1080->360
          1 = columns of 0: plane 640x360 of luma (box 1920->640, box 1080->360)
        3 = boxes: two planes 320x180 of chroma (box 960->320, box 540->180), otherwise
          2 = rows of plane 1: box 540->180
          3 = columns of 2: two planes 320x180 of chroma (box 960->320, box 540->180)
        a ycbcr420 = 1, 3, 3.1
        """)
  }

  @Test("a thumbnail's luma is drawn from the unconverted luma of a larger view")
  func thumbnail() throws {
    let steps = try plan(camera, ["a:size=640x360", "b:size=80x45"], .words).steps

    #expect(
      steps == """
        1, 2 unconverted = boxes: plane 640x360 of luma (box 1920->640, box 1080->360), otherwise
          0 = rows of plane 0: box 1080->360
          1 = columns of 0: plane 640x360 of luma (box 1920->640, box 1080->360)
          2 = columns of 0: plane 640x360 of luma (box 1920->640, box 1080->360)
        4 = boxes: two planes 320x180 of chroma (box 960->320, box 540->180), otherwise
          3 = rows of plane 1: box 540->180
          4 = columns of 3: two planes 320x180 of chroma (box 960->320, box 540->180)
        5 = rows of 2: box 360->45
        6 = columns of 5: plane 80x45 of luma (box 640->80, box 360->45)
        7 = rows of plane 1: box 540->23
        8 = columns of 7: two planes 40x23 of chroma (box 960->40, box 540->23)
        a ycbcr420 = 1, 4, 4.1
        b ycbcr420 = 6, 8, 8.1
        """)
  }

  @Test("YUYV luma and chroma are sums of every other byte, and two views share their row sums")
  func packed() throws {
    let format = Frame.Format(.yuyv, Size(width: 640, height: 480), color: .jfif)
    let steps = try plan(
      format, ["a:size=320x200,filter=lanczos,mode=stretch", "b:size=300x200,filter=lanczos,mode=stretch"],
      .texels
    ).steps

    #expect(
      steps == """
        0 = rows of plane 0, every other byte from 0: lanczos 480->200
        1 = columns of 0: plane 320x200 of luma (lanczos 640->320, lanczos 480->200)
        2 = rows of plane 0, every other byte from 1: lanczos 480->100
        3 = columns of 2: two planes 160x100 of chroma (lanczos 320->160, lanczos 480->100)
        4 = columns of 0: plane 300x200 of luma (lanczos 640->300, lanczos 480->200)
        5 = columns of 2: two planes 150x100 of chroma (lanczos 320->150, lanczos 480->100)
        a ycbcr420 = 1, 3, 3.1
        b ycbcr420 = 4, 5, 5.1
        """)
  }

  @Test("a rotated view is drawn as a rotated copy of the upright view")
  func turned() throws {
    let format = Frame.Format(.rgba, Size(width: 64, height: 48), color: .jfif)
    let steps = try plan(
      format, ["a:size=32x24", "b:rotate=90,size=24x32", "c:filter=nearest"], as: .rgba, .texels
    ).steps

    #expect(
      steps == """
        0 = rows of plane 0: box 48->24
        1 = columns of 0: pixels 32x24 of rgb (box 64->32, box 48->24)
        2 = 1 turned 6
        3 = samples: pixels 64x48 of rgb (nearest 64->64, nearest 48->48)
        a rgba = 1
        b rgba = 2
        c rgba = 3
        """)
  }

  @Test("row sums of an opaque frame skip alpha blending, and nearest needs no plan for opaque frames")
  func opaque() throws {
    let format = Frame.Format(.bgra, Size(width: 64, height: 48), color: .jfif)
    let area = try #require(try plan(format, ["a:size=32x24"], as: .rgba, .texels).drawing)
    #expect(area.plan.blends && area.ofOpaque?.blends == false)
    let nearest = try #require(try plan(format, ["a:size=32x24,filter=nearest"], as: .rgba, .texels).drawing)
    #expect(nearest.ofOpaque == nil)
  }

  @Test("in linear light, rows of all three components are summed in one step")
  func light() throws {
    let steps = try plan(camera, ["a:size=640x360,linear=true"], as: .rgba, .texels).steps

    #expect(
      steps == """
        0 = rows of light of rgb: box 1080->360
        1 = columns of 0: pixels 640x360 in linear light of rgb (box 1920->640, box 1080->360)
        a rgba = 1
        """)
  }

  @Test("the reference renderer has no drawing steps")
  func reference() throws {
    #expect(try plan(camera, ["a:size=640x360"], .none).steps.isEmpty)
  }

  @Test(
    "every step reads only earlier results, for all views together and for each view alone",
    arguments: 0..<100)
  func order(seed: UInt64) throws {
    var random = Dice(state: seed &* 2_862_933_555_777_941_757)
    let formats: [PixelFormat] = [.nv12, .yuyv, .i420, .rgb24, .rgba, .rgbx, .grey]
    let format = Frame.Format(
      formats.randomElement(using: &random) ?? .nv12, Size(width: 320, height: 240), color: .jfif)
    let views = (0..<5).map { index in
      let filter = ["auto", "area", "nearest", "bilinear", "lanczos"].randomElement(using: &random) ?? "auto"
      let turn = [0, 90, 180, 270].randomElement(using: &random) ?? 0
      let (width, height) = (
        Int.random(in: 1...64, using: &random) * 5, Int.random(in: 1...48, using: &random) * 5
      )
      return "v\(index):size=\(width)x\(height),filter=\(filter),rotate=\(turn),mode=stretch"
    }
    for boxes in [BoxPacking.texels, .words] {
      let drawing = try #require(try plan(format, views, boxes).drawing).plan
      for wanted in [Array(views.indices)] + views.indices.map({ [$0] }) {
        for hasPrograms in [true, false] {
          let drawn = try results(of: drawing.steps(for: wanted), hasPrograms)
          #expect(wanted.flatMap { drawing.planes[$0] }.allSatisfy { drawn.contains($0.result) })
        }
      }
      #expect(drawing.steps(for: Array(views.indices)) == drawing.steps)
      #expect(Set(drawing.steps.map(\.result)).count == drawing.steps.count)
    }
  }

  /// What steps draw, each after all that it reads.
  private func results(of steps: [DrawingStep], _ hasPrograms: Bool) throws -> Set<Int> {
    var drawn: Set<Int> = []
    func carryOut(_ steps: [DrawingStep]) {
      for step in steps where !drawn.contains(step.result) {
        var reads: [Int] = []
        switch step.work {
        case .rows(let sums): if case .drawn(let plane) = sums.source { reads = [plane.result] }
        case .columns(_, let sums): reads = sums.flatMap(\.self)
        case .samples, .warp: break
        case .boxes(_, _, let unconverted, let otherwise):
          if !hasPrograms { carryOut(otherwise) }
          if let unconverted { if hasPrograms { drawn.insert(unconverted) } else { reads = [unconverted] } }
        case .turn(let turning): reads = [turning.plane.result]
        }
        #expect(drawn.isSuperset(of: reads))
        drawn.insert(step.result)
      }
    }
    carryOut(steps)
    return drawn
  }
}

/// A linear congruential generator (Knuth's MMIX), the same on every machine.
private struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 33
  }
}

extension DrawingPlan {
  /// Whether a sum of rows is blended over a background.
  fileprivate var blends: Bool {
    steps.contains { if case .rows(let sums) = $0.work { sums.behind != nil } else { false } }
  }
}
