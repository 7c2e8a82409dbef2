// Labels of views: their words, and their layers over a view.
import PreviewCore
import Testing

private let format = Frame.Format(
  .nv12, Size(width: 640, height: 480),
  color: ColorDescription(matrix: .bt601, range: .limited, siting: .left))

private func view(_ words: String) throws -> ViewConfiguration {
  try ViewConfiguration(parsing: "a:\(words)")
}

@Test("label= is bottom left and time= top right, and each replaces or removes only its own label")
func labelWords() throws {
  var both = try view("label=Front door, left,time=utc")
  #expect(both.labelText == "Front door, left")
  #expect(both.timeText == "utc")
  #expect(both.labels.map(\.position) == [.bottomLeft, .topRight])
  #expect(!both.isWhole)

  try both.set("label", to: "Yard")
  try both.set("time", to: "%H:%M")
  #expect(both.labels.count == 2)
  #expect(both.labelText == "Yard")
  #expect(both.timeText == "%H:%M")

  try both.set("label", to: "")
  try both.set("time", to: "no")
  #expect(both == ViewConfiguration(name: "a"))
}

@Test(
  "time= accepts yes, on, local and utc",
  arguments: [("yes", "local"), ("local", "local"), ("on", "local"), ("utc", "utc")])
func timeWords(word: String, meaning: String) throws { #expect(try view("time=\(word)").timeText == meaning) }

@Test("an invalid time= value is rejected", arguments: ["", "now", "%", "%Q", "UTC"])
func wrongTimes(word: String) { #expect(throws: ParameterError.self) { try view("time=\(word)") } }

@Test(
  "labels are layers over the view in RGBA and 4:2:0, sized to suit the picture",
  arguments: [Picture.Format.rgba, .ycbcr(.yuv420)])
func labelLayers(output: Picture.Format) throws {
  let (text, planner) = (BoxText(), RenderPlanner())
  let view = try view("rotate=90,label=door,time=%H:%M")
  let layers = try LabelLayers(at: .testing, text).layers(of: view, format, planner)
  let plan = try planner.plan(format, [ViewRequest(view, as: output, under: layers)])
  let drawn = try #require(plan.views[0].composition)

  // 480 columns: letters of 20 x 10, 8 from the edge and 8 from the end of their pill.
  #expect(text.texts == ["door", "17:05"])
  #expect(drawn.size == Size(width: 480, height: 640))
  #expect(
    drawn.layers.map(\.size) == [
      Size(width: 480, height: 640), Size(width: 56, height: 28), Size(width: 40, height: 20),
      Size(width: 66, height: 28), Size(width: 50, height: 20),
    ])
  #expect(drawn.layers[1].placement == .aligned(x: 8, y: 604))
  #expect(drawn.layers[3].placement == .aligned(x: 406, y: 8))
}

@Test("a label without a time, a text renderer or enough space is omitted")
func omittedLabels() throws {
  let planner = RenderPlanner()
  let words = try view("label=door,time=local")
  #expect(try LabelLayers(at: nil, BoxText()).layers(of: words, format, planner).count == 2)
  #expect(try LabelLayers(at: .testing, nil).layers(of: words, format, planner).isEmpty)
  let small = try view("size=12x12,label=door")
  #expect(try LabelLayers(at: .testing, BoxText()).layers(of: small, format, planner).isEmpty)
}

@Test("a label with an invalid font size is rejected")
func wrongLabel() {
  let view = ViewConfiguration(labels: [Label(.text("a"), font: Label.Font(size: 3))])
  #expect(throws: ParameterError.self) {
    try LabelLayers(at: .testing, BoxText()).layers(of: view, format, RenderPlanner())
  }
}

@Test("a camera that is off keeps its label, and shows the time of its last frame if there is one")
func labelsOfOutages() throws {
  let words = try view("label=door,time=%F")
  func texts(capturedAt captured: WallClockTime?) -> Set<String> {
    let text = BoxText()
    _ = Fallback(always: .gradient(icon: nil)).composed(
      size: Size(width: 320, height: 180), outage: Outage(.off, since: 0), of: "door",
      hasFrame: captured != nil, view: words, capturedAt: captured,
      at: WallClockTime(secondsSince1970: 0), text: text)
    return text.texts
  }
  #expect(texts(capturedAt: nil) == ["door"])
  #expect(texts(capturedAt: .testing) == ["door", "2026-11-21"])
}

@Test("a tile draws the labels of its view")
func tileLabels() throws {
  let text = BoxText()
  let scene = Scene(size: Size(width: 320, height: 180), tiles: [try Tile(parsing: "a:label=door,time=utc")])
  let layers = try scene.composed(["a": .live], at: .testing, text: text).composition.layers
  #expect(text.texts == ["door", "2026-11-21 17:05:09 UTC"])
  #expect(layers.count == 5)
}
