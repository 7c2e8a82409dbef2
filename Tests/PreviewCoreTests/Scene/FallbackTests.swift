// What is seen of sources that give nothing: which picture, and its layers by hand.
import PreviewCore
import Testing

private let size = Size(width: 320, height: 180)
private let all = Rectangle(all: size)
private let plain = ViewConfiguration()

private func composed(
  _ picture: Fallback.Picture, _ outage: Outage, hasFrame: Bool = true, view: ViewConfiguration = plain,
  size: Size = size, text: (any TextRenderer)? = nil
) -> ComposedScene {
  Fallback(always: picture).composed(
    size: size, outage: outage, of: "door", hasFrame: hasFrame, view: view, at: .testing, text: text)
}

@Test("a fallback chooses the expected picture for each camera state")
func usualPictures() throws {
  let usual = Fallback.standard
  #expect(usual.picture(for: .off, hasFrame: true) == .gradient(icon: .cameraOff))
  #expect(usual.picture(for: .opening, hasFrame: true) == .lastFrameDimmed)
  #expect(usual.picture(for: .opening, hasFrame: false) == .gradient(icon: .camera))
  #expect(usual.picture(for: .stalled, hasFrame: true) == .lastFrameDimmed)
  #expect(usual.picture(for: .stalled, hasFrame: false) == .noSignal)
  #expect(usual.picture(for: .lost, hasFrame: true) == .noSignal)

  let avatar = try StillImage.pixel()
  let somebody = Fallback(avatar: avatar)
  #expect(somebody.picture(for: .off, hasFrame: true) == .avatar(avatar))
  #expect(somebody.picture(for: .lost, hasFrame: false) == .avatar(avatar))
  #expect(somebody.picture(for: .stalled, hasFrame: true) == .lastFrameDimmed)
  #expect(Fallback(always: .noSignal).picture(for: .off, hasFrame: true) == .noSignal)
}

@Test("an avatar is a circle over its blurred copy, without the view's crop, rotation or mirroring")
func avatar() throws {
  let image = try StillImage.pixel()
  let view = ViewConfiguration(
    crop: Rectangle(x: 1, y: 2, width: 3, height: 4), rotation: .clockwise90, mirroring: .both)

  let scene = composed(.avatar(image), Outage(.off, since: 0), view: view)

  #expect(scene.inputs == [.image(image)])
  #expect(
    scene.composition.layers == [
      Layer(.blurred(input: 0, plain, Blur(cell: 18)), in: all, adjustment: .dimmed(to: 0.6)),
      Layer(
        .view(input: 0, plain), in: Rectangle(x: 115, y: 45, width: 90, height: 90), shape: .circle),
    ])
}

@Test("a gradient fallback has its icon in the centre, or no icon")
func gradient() {
  let scene = composed(.gradient(.dusk, icon: .microphoneOff), Outage(.off, since: 0))
  #expect(scene.inputs.isEmpty)
  #expect(
    scene.composition.layers == [
      Layer(.gradient(.dusk), in: all),
      Layer(
        .bitmap(Fallback.Icon.microphoneOff.bitmap(side: 60)),
        in: Rectangle(x: 130, y: 60, width: 60, height: 60)),
    ])

  let bare = composed(.gradient(.dusk), Outage(.off, since: 0))
  #expect(bare.composition.layers == [Layer(.gradient(.dusk), in: all)])
}

@Test("a dimmed last frame keeps the view's settings and shows the outage's reason and start time")
func dimmedFrame() throws {
  let text = BoxText()
  let view = ViewConfiguration(mirroring: .horizontal, contentMode: .fit, background: .white)
  let state = Outage(.stalled, since: 1_795_280_700)

  let scene = composed(.lastFrameDimmed, state, view: view, text: text)
  let caption = try #require(text.only("Stalled, since 17:05:00"))

  #expect(scene.inputs == [.source("door")])
  #expect(
    scene.composition.layers == [
      Layer(.view(input: 0, view), in: all, adjustment: .dimmed(to: 0.4)),
      // 23 letters of 6 x 12 come to 138 pixels.
      Layer(.bitmap(caption), in: Rectangle(x: 91, y: 84, width: 138, height: 12)),
    ])
}

@Test("a stalled source without a last frame shows the no-signal picture")
func noLastFrame() {
  let state = Outage(.stalled, since: 0)
  #expect(composed(.lastFrameDimmed, state, hasFrame: false) == composed(.noSignal, state))
}

@Test("the no-signal picture has colour bars, the reason, and the date if it is another day")
func noSignal() throws {
  let text = BoxText()
  let scene = composed(
    .noSignal, Outage(.lost, reason: "no such device", since: 951_782_400), text: text)

  #expect(text.texts == ["NO SIGNAL", "no such device", "since 2000-02-29 00:00:00"])
  let layers = scene.composition.layers
  guard case .image(let bars)? = scene.inputs.first else {
    Issue.record("the first input is no image")
    return
  }
  #expect(bars.frame.format.size == Size(width: 7, height: 6))
  #expect(
    layers[0] == Layer(.view(input: 0, ViewConfiguration(contentMode: .stretch, filter: .nearest)), in: all))

  // Rows of 20, 10 and 10 pixels, 7 apart: 54 high, from 63 on. The panel has 7 more above and below, 14 at the sides;
  // the widest row has 25 letters of 5 pixels.
  #expect(
    layers.dropFirst().map(\.frame.description) == [
      "153x68+83+56", "90x20+115+63", "70x10+125+90", "125x10+97+107",
    ])
  #expect(layers[1].content == .color(.black) && layers[1].opacity == 0.7)

  // The same object whenever it is asked for, so that its texture is kept.
  #expect(composed(.noSignal, Outage(.lost, since: 0)).inputs == scene.inputs)
}

@Test("a fallback of 47x47 pixels or less has no text, and its layers stay inside")
func smallFallbacks() {
  let text = BoxText()
  for side in [1, 2, 7, 47] {
    for picture in [Fallback.Picture.noSignal, .lastFrameDimmed, .gradient(icon: .camera)] {
      let scene = composed(
        picture, Outage(.lost, since: 0), size: Size(width: side, height: side), text: text)
      #expect(scene.composition.layers.allSatisfy { $0.frame.isInside(Size(width: side, height: side)) })
      #expect(!scene.composition.layers.isEmpty)
    }
  }

  #expect(text.texts.isEmpty)
}

@Test(
  "fallback layers stay within the picture, even with a long reason",
  arguments: [(48, 48), (48, 500), (900, 50), (1920, 1080)])
func fallbackBounds(width: Int, height: Int) throws {
  let area = Size(width: width, height: height)
  let state = Outage(.lost, reason: String(repeating: "why? ", count: 100), since: 0)
  for picture in [
    Fallback.Picture.noSignal, .lastFrameDimmed, .gradient(icon: .camera), .avatar(try .pixel()),
  ] {
    let scene = composed(picture, state, size: area, text: BoxText())
    #expect(scene.composition.layers.allSatisfy { $0.frame.isInside(area) }, "\(picture)")
  }
}

@Test("a tile's own fallback overrides the source's, with the tile's corners and border")
func sceneFallbacks() throws {
  let avatar = try StillImage.pixel()
  let lost = SourceAppearance(
    hasFrame: false, outage: Outage(.lost, since: 0), pictures: Fallback(avatar: avatar))
  let scene = Scene(
    size: size,
    tiles: [
      Tile("a"), Tile("a", cornerRadius: 4, isSpeaking: true, fallback: Fallback(always: .gradient(.dusk))),
    ])

  let composed = try scene.composed(["a": lost], at: .testing, text: nil)

  #expect(composed.inputs == [.image(avatar)])
  #expect(
    composed.composition.layers.last
      == Layer(
        .gradient(.dusk), in: Rectangle(x: 160, y: 0, width: 160, height: 180), shape: .rounded(4),
        border: .speaking))
}

@Test("a live source without a frame is shown as opening")
func liveWithoutFrame() throws {
  let scene = Scene(size: size, tiles: [Tile("a")])
  let opening = SourceAppearance(hasFrame: false, outage: Outage(.opening, since: 0))
  #expect(
    try scene.composed(["a": SourceAppearance(hasFrame: false)], at: .testing, text: nil)
      == scene.composed(["a": opening], at: .testing, text: nil))
}

@Test("a delayed instance of a dimmed last frame requests the delayed frame")
func delayedFallback() throws {
  let tile = Tile("a", replicator: Replicator(instanceCount: 2, delay: .seconds(1)))
  let stalled = SourceAppearance(hasFrame: true, outage: Outage(.stalled, since: 0))
  let scene = try Scene(size: size, tiles: [tile]).composed(["a": stalled], at: .testing, text: nil)
  #expect(scene.inputs == [.source("a"), .source("a", delay: .seconds(1))])
}
