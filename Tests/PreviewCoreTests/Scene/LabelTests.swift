// Labels as layers: where they stand, on what, and with how much room.
import PreviewCore
import Testing

private let area = Rectangle(x: 100, y: 50, width: 201, height: 101)

@Test(
  "each of the nine label anchors gives the expected position",
  arguments: [
    (Label.Anchor.topLeft, "20x10+107+57"), (.top, "20x10+190+57"), (.topRight, "20x10+274+57"),
    (.left, "20x10+107+95"), (.center, "20x10+190+95"), (.right, "20x10+274+95"),
    (.bottomLeft, "20x10+107+134"), (.bottom, "20x10+190+134"), (.bottomRight, "20x10+274+134"),
  ])
func anchors(anchor: Label.Anchor, place: String) {
  #expect(anchor.place(Size(width: 20, height: 10), in: area, margin: 7).description == place)
}

private func layers(_ label: Label, size: Size = Size(width: 320, height: 180), text: BoxText) throws
  -> [Layer]
{
  let scene = Scene(size: size, tiles: [Tile("a", opacity: 0.5, label: label)])
  return Array(try scene.composed(["a": .live], at: .testing, text: text).composition.layers.dropFirst())
}

@Test("a label without a background is a text bitmap with its tile's opacity")
func bareLabel() throws {
  let text = BoxText()
  let drawn = try layers(Label(.text("Zoë"), font: Label.Font(size: 20), margin: 5), text: text)
  let bitmap = try #require(text.only("Zoë"))
  // Three letters of 10 x 20, 5 from the left and from the bottom of 180.
  #expect(drawn == [Layer(.bitmap(bitmap), in: Rectangle(x: 5, y: 155, width: 30, height: 20), opacity: 0.5)])
}

@Test("a label background adds padding at the sides, and half as much above and below")
func pill() throws {
  let text = BoxText()
  let background = Label.Background(color: .white, opacity: 0.4, padding: 5, cornerRadius: 6)
  let label = Label(
    .text("abcd"), font: Label.Font(size: 10), background: background, position: .topRight, margin: 8)

  let drawn = try layers(label, text: text)
  let bitmap = try #require(text.only("abcd"))

  // Text of 20 x 10, padded by 5 and 3: 30 x 16, 8 from the right of 320.
  #expect(
    drawn == [
      Layer(
        .color(.white), in: Rectangle(x: 282, y: 8, width: 30, height: 16), shape: .rounded(6), opacity: 0.2),
      Layer(.bitmap(bitmap), in: Rectangle(x: 287, y: 11, width: 20, height: 10), opacity: 0.5),
    ])
}

@Test("a label's text is limited to the width between its margins, or to a smaller maximum width")
func labelRoom() throws {
  let long = String(repeating: "x", count: 100)
  let background = Label.Background(padding: 10)
  for (width, expected) in [(nil, 320 - 2 * 18), (50, 50), (1000, 320 - 2 * 18)] as [(Int?, Int)] {
    let text = BoxText()
    _ = try layers(Label(.text(long), background: background, maximumWidth: width), text: text)
    #expect(text.only(long)?.size == Size(width: expected, height: 16))
  }
}

@Test("a label without enough space, text or a text renderer is omitted")
func noRoom() throws {
  #expect(try layers(Label(name: "x"), size: Size(width: 30, height: 30), text: BoxText()).isEmpty)
  #expect(try layers(Label(name: ""), text: BoxText()).isEmpty)
  let scene = Scene(size: area.size, tiles: [Tile("a", label: Label(name: "x"))], labels: [Label(.time())])
  #expect(try scene.composed(["a": .live], at: .testing, text: nil).composition.layers.count == 1)
}

@Test("a tile's time label shows the capture time if known, and a scene's shows the current time")
func times() throws {
  let text = BoxText()
  let scene = Scene(
    size: Size(width: 640, height: 360),
    tiles: [Tile("a", label: Label(.time())), Tile("b", label: Label(.time(try Label.TimeFormat("b %T"))))],
    labels: [Label(.time(try Label.TimeFormat("%T", zone: .utc)), position: .topRight)])
  let sources = [
    "a": SourceAppearance(hasFrame: true, capturedAt: 951_782_400), "b": SourceAppearance(hasFrame: true),
  ]
  let time = WallClockTime(secondsSince1970: 1_795_280_709, secondsFromUTC: 3600)

  let layers = try scene.composed(sources, at: time, text: text).composition.layers

  #expect(text.texts == ["2000-02-29 01:00:00", "b 18:05:09", "17:05:09"])
  // Labels lie above all tiles.
  #expect(layers.last?.content == text.only("17:05:09").map { .bitmap($0) })
}
