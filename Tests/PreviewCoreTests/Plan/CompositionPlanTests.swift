// Compositions as plans: what is drawn of each layer, where, how large, and what a planner must refuse.
import PreviewCore
import Testing

private let camera = Frame.Format(
  .rgb24, Size(width: 160, height: 90),
  color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))
private let view = LayerContent.view(input: 0, ViewConfiguration())

private func plan(
  _ layers: [Layer], width: Int = 100, height: Int = 100, as format: Picture.Format = .rgba
) throws -> ScenePlan {
  try RenderPlanner().plan(
    [camera], Composition(size: Size(width: width, height: height), layers: layers), as: format)
}

private func layers(_ layer: Layer) throws -> [PlannedLayer] {
  try #require(try plan([layer]).view.composition).layers
}

@Suite("Composition plans")
struct CompositionPlanTests {
  @Test("a plan of a view over a colour as 4:2:0 draws the view's tile, then each composited plane")
  func trace() throws {
    let white = Border(width: 2, color: RGBColor(red: 255, green: 255, blue: 255))
    let scene = [
      Layer(.color(RGBColor(red: 1, green: 2, blue: 3)), in: Rectangle(x: 0, y: 0, width: 100, height: 100)),
      Layer(
        view, in: Rectangle(x: 60, y: -5, width: 80, height: 45), shape: .rounded(8), border: white,
        opacity: 0.5, adjustment: .dimmed(to: 0.25)),
    ]

    #expect(
      try plan(scene, as: .ycbcr(.yuv420)).description == """
        frame 0 160x90 rgb24
        scene layer 0 #010203 100x100 at (0, 0) in 100x100+0+0
        scene layer 1 view of 0 80x45 at (60, -5) in 40x40+60+0, radius 8.0, border 2.0 #FFFFFF, opacity 0.5, \
        scaled by (0.25, 0.25, 0.25), plus (0.0, 0.0, 0.0)
          tile rgba[0] 80x45 <- rgb (box 160->80, box 90->45)
        scene ycbcr420[0] 100x100 <- rgb (box 100->100, box 100->100)
        scene ycbcr420[1] 50x50 <- rgb (box 100->100, box 100->100)
        scene ycbcr420[2] 50x50 <- rgb (box 100->100, box 100->100)
        """)
  }

  @Test("a fitted view with a clear surround is planned as a single layer")
  func fit() throws {
    let content = LayerContent.view(input: 0, ViewConfiguration(contentMode: .fit, surround: .clear))
    let layer = try #require(
      try layers(Layer(content, in: Rectangle(x: 10, y: 10, width: 32, height: 32), shape: .circle)).first)

    // 32 columns of 16:9 are 18 rows, 7 rows below the frame's top.
    #expect(layer.placement == .aligned(x: 10, y: 17))
    #expect(layer.size == Size(width: 32, height: 18))
    #expect(layer.bounds == Rectangle(x: 10, y: 17, width: 32, height: 18))
    #expect(layer.shape == Rectangle(x: 7, y: 0, width: 18, height: 18))
    #expect(layer.cornerRadius == 9)
  }

  @Test("a fitted view with a blurred surround is planned as two layers clipped to the same shape")
  func surround() throws {
    let content = LayerContent.view(input: 0, ViewConfiguration(contentMode: .fit, surround: .blur))
    let both = try layers(
      Layer(content, in: Rectangle(x: 10, y: 10, width: 32, height: 32), shape: .rounded(4)))

    try #require(both.count == 2)
    #expect(both[0].bounds == Rectangle(x: 10, y: 10, width: 32, height: 32))
    #expect(both[1].bounds == Rectangle(x: 10, y: 17, width: 32, height: 18))
    #expect(both[1].shape == Rectangle(x: 0, y: -7, width: 32, height: 32))
    guard case .blurred(0, let samples) = both[0].content else {
      Issue.record("\(both[0].content)")
      return
    }
    // Cells of 32 / 16.
    #expect(samples.size == Size(width: 16, height: 16))
  }

  @Test("a view with a background around it is planned as two layers with the same border and shape")
  func background() throws {
    let content = LayerContent.view(input: 0, ViewConfiguration(contentMode: .inside, background: .white))
    let border = Border(width: 2, color: .black)
    let both = try layers(
      Layer(content, in: Rectangle(x: 10, y: 10, width: 32, height: 32), shape: .rounded(4), border: border))
    try #require(both.count == 2)
    #expect(both[0].content == .color(.white))
    #expect(both.map(\.border) == [border, border])
    #expect(both[1].shape == Rectangle(x: 0, y: -7, width: 32, height: 32))
  }

  @Test("a blurred view has one sample for each whole or partial cell")
  func cells() throws {
    let content = LayerContent.blurred(input: 0, ViewConfiguration(), Blur(cell: 24))
    let layer = try #require(
      try layers(Layer(content, in: Rectangle(x: 0, y: 0, width: 97, height: 10))).first)
    guard case .blurred(0, let samples) = layer.content else {
      Issue.record("\(layer.content)")
      return
    }
    #expect(samples.size == Size(width: 5, height: 1))
  }

  @Test("a view enlarged by a transform is planned at its final size, aligned to pixels")
  func scaled() throws {
    let layer = try #require(
      try layers(
        Layer(
          view, in: Rectangle(x: 40, y: 40, width: 20, height: 10), shape: .rounded(3),
          border: Border(width: 1.5, color: .black), transform: .scale(x: 2, y: 2))
      ).first)

    #expect(layer.size == Size(width: 40, height: 20))
    #expect(layer.placement == .aligned(x: 30, y: 35))
    #expect(layer.cornerRadius == 6)
    #expect(layer.border?.width == 3)
  }

  @Test("a rotated layer has the bounds of its rotated corners and maps positions by the inverse")
  func turned() throws {
    let quarter = AffineTransform(a: 0, b: 1, c: -1, d: 0, tx: 0, ty: 0)
    let layer = try #require(
      try layers(Layer(view, in: Rectangle(x: 40, y: 40, width: 20, height: 10), transform: quarter)).first)
    // About (50, 45): 10 wide and 20 high there, and half a pixel more each way.
    #expect(layer.bounds == Rectangle(x: 44, y: 34, width: 12, height: 22))
    // Clockwise: what was the left end is the top one.
    #expect(layer.placement.position(of: [50, 35]) == [0, 5])
    #expect(layer.placement.position(of: [45, 45]) == [10, 10])
  }

  @Test(
    "an invisible layer is omitted, and its frame is not requested",
    arguments: [
      Layer(view, in: Rectangle(x: 100, y: 0, width: 5, height: 5)),
      Layer(view, in: Rectangle(x: -5, y: 0, width: 5, height: 5)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), opacity: 0),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), transform: .scale(x: 0, y: 1)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), transform: .translation(x: 300, y: 0)),
    ])
  func unseen(layer: Layer) throws {
    let plan = try plan([layer])
    #expect(plan.view.composition?.layers.isEmpty == true)
    #expect(plan.sources == [nil])
  }

  @Test(
    "an invalid layer is rejected with an error that names it",
    arguments: [
      Layer(view, in: Rectangle(x: 0, y: 0, width: 0, height: 5)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), opacity: 1.01),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), opacity: .nan),
      Layer(view, in: Rectangle(x: .max, y: 0, width: 5, height: 5)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), shape: .rounded(-1)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), shape: .rounded(.infinity)),
      Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), border: Border(width: 0, color: .black)),
      Layer(
        view, in: Rectangle(x: 0, y: 0, width: 5, height: 5),
        adjustment: ColorAdjustment(offset: [0, .nan, 0])),
      Layer(
        view, in: Rectangle(x: 0, y: 0, width: 5, height: 5), transform: .translation(x: .infinity, y: 0)),
      Layer(
        view, in: Rectangle(x: 0, y: 0, width: 60000, height: 60000), transform: .scale(x: 9, y: 9)),
      Layer(.view(input: 1, ViewConfiguration()), in: Rectangle(x: 0, y: 0, width: 5, height: 5)),
      Layer(.view(input: -1, ViewConfiguration()), in: Rectangle(x: 0, y: 0, width: 5, height: 5)),
      Layer(
        .gradient(LinearGradient(from: .black, to: .black, angle: .nan)),
        in: Rectangle(x: 0, y: 0, width: 5, height: 5)),
    ])
  func refused(layer: Layer) {
    let whole = Layer(.color(.black), in: Rectangle(x: 0, y: 0, width: 100, height: 100))
    #expect {
      try plan([whole, layer])
    } throws: {
      ($0 as? ParameterError)?.key == "layer 1"
    }
  }

  @Test("a bitmap of the wrong size, a missing frame and an out-of-range size are rejected")
  func refusedParts() throws {
    let bitmap = try Bitmap(size: Size(width: 2, height: 1), bytes: [UInt8](repeating: 9, count: 8))
    #expect(throws: ParameterError.self) {
      try plan([Layer(.bitmap(bitmap), in: Rectangle(x: 0, y: 0, width: 2, height: 2))])
    }

    let small = RenderPlanner(tuning: RenderTuning(maximumTargetSide: 64), maximumPixels: 1000)
    let layer = Layer(view, in: Rectangle(x: 0, y: 0, width: 5, height: 5))
    #expect(throws: ParameterError.self) {
      try small.plan([nil], Composition(size: Size(width: 9, height: 9), layers: [layer]), as: .rgba)
    }
    for size in [Size(width: 65, height: 1), Size(width: 40, height: 40), Size(width: 0, height: 4)] {
      #expect(throws: ParameterError.self) { try small.plan([], Composition(size: size), as: .rgba) }
    }
  }

  @Test("background=blur is planned as a composition if there are bars, else as a plain view")
  func viewWithSurround() throws {
    func view(_ words: String) throws -> PlannedView {
      let view = try ViewConfiguration(parsing: words)
      return try RenderPlanner().plan(camera, [ViewRequest(view, as: .rgba)]).views[0]
    }

    let barred = try view("a:size=40x40,mode=fit,background=blur")
    #expect(barred.composition?.layers.count == 2)
    #expect(barred.size == Size(width: 40, height: 40))

    for words in [
      "a:size=32x18,mode=fit,background=blur", "a:size=40x40,background=blur", "a:size=40x40,mode=fit",
    ] {
      #expect(try view(words).composition == nil, "\(words)")
    }
  }

  @Test("Frame.identity stays with a new sequence and timestamp, and differs for another frame or colour")
  func identity() throws {
    let bytes = [UInt8](repeating: 7, count: 12)
    let format = Frame.Format(.rgb24, Size(width: 2, height: 2), color: .jfif)
    let frame = try Frame(tight: format, bytes: bytes)
    let later = frame.with(sequence: 5, timestamp: CaptureInstant(sinceStart: .seconds(1)))
    #expect(frame.identity == later.identity)
    #expect(frame.identity != (try Frame(tight: format, bytes: bytes)).identity)
    let grey = Frame.Format(.grey, Size(width: 2, height: 2), color: .jfif)
    let one = try Frame(tight: grey, bytes: [1, 2, 3, 4])
    #expect(one.identity != one.with(color: ColorDescription.Override(range: .limited)).identity)
  }
}
