// The words of a view: every key in every form, and everything that must be refused with a reason.
// The same grammar serves `--view`, configuration files and URLs (DESIGN.md "The command"; DECISIONS.md 20, 23).
import PreviewCore
import Testing

@Test("a name alone is all of the source as it is")
func nameAlone() throws {
  let view = try ViewConfiguration(parsing: "porch")
  #expect(view == ViewConfiguration(name: "porch"))
  #expect(view.crop == nil && view.width == nil && view.height == nil)
  #expect(view.contentMode == .fill && view.filter == .auto && view.light == .encoded)
  #expect(view.rotation == .none && view.mirroring == .none && view.background == .black)
}

@Test("every key can stand beside every other")
func everyKey() throws {
  let view = try ViewConfiguration(
    parsing:
      "a:crop=640x480+10+20,rotate=90,mirror=both,size=320x240,mode=fit,background=#102030,filter=lanczos,linear=true"
  )

  #expect(
    view
      == ViewConfiguration(
        name: "a", crop: Rectangle(x: 10, y: 20, width: 640, height: 480), rotation: .clockwise90,
        mirroring: .both, width: 320, height: 240, contentMode: .fit,
        background: RGBColor(red: 0x10, green: 0x20, blue: 0x30), filter: .lanczos, light: .linear))
}

@Test("a crop is WxH+X+Y or X,Y,W,H, wherever it stands")
func cropForms() throws {
  let expected = Rectangle(x: 10, y: 20, width: 640, height: 480)
  for text in ["a:crop=640x480+10+20", "a:crop=10,20,640,480", "a:rotate=0,crop=10,20,640,480,mirror=none"] {
    #expect(try ViewConfiguration(parsing: text).crop == expected)
  }
  #expect(try ViewConfiguration(parsing: "a:crop=1x1+0+0").crop == Rectangle(x: 0, y: 0, width: 1, height: 1))
}

@Test("a size has two sides, or one")
func sizeForms() throws {
  func sides(_ text: String) throws -> [Int?] {
    let view = try ViewConfiguration(parsing: "a:\(text)")
    return [view.width, view.height]
  }

  #expect(try sides("size=320x240") == [320, 240])
  #expect(try sides("size=320x") == [320, nil])
  #expect(try sides("size=x240") == [nil, 240])
  #expect(try sides("width=320") == [320, nil])
  #expect(try sides("height=240") == [nil, 240])
  #expect(try sides("w=320,h=240") == [320, 240])
  #expect(try sides("size=65535x1") == [65535, 1])
}

@Test(
  "a rotation is a quarter, clockwise; -90 is the one to the left",
  arguments: [
    ("0", Rotation.none), ("90", .clockwise90), ("180", .half), ("270", .clockwise270),
    ("-90", .clockwise270),
    ("-180", .half), ("-270", .clockwise90), ("360", .none),
  ])
func rotationForms(text: String, rotation: Rotation) throws {
  #expect(try ViewConfiguration(parsing: "a:rotate=\(text)").rotation == rotation)
}

@Test("words are those of the enumerations, letter by letter")
func wordForms() throws {
  func set(_ key: String, _ value: String) throws -> ViewConfiguration {
    var view = ViewConfiguration()
    try view.set(key, to: value)
    return view
  }

  for mode in ["fill", "fit", "stretch", "inside"] {
    #expect(try set("mode", mode).contentMode.rawValue == mode)
  }
  for filter in ["auto", "nearest", "bilinear", "area", "bicubic", "mitchell", "lanczos"] {
    #expect(try set("filter", filter).filter.rawValue == filter)
  }
  for axis in ["none", "horizontal", "vertical", "both"] {
    #expect(try set("mirror", axis).mirroring.rawValue == axis)
  }
  for yes in ["true", "1", "yes", "on"] { #expect(try set("linear", yes).light == .linear) }
  for no in ["false", "0", "no", "off"] { #expect(try set("linear", no).light == .encoded) }
  for color in ["#ff8000", "FF8000", "ff8000", "#FF8000"] {
    #expect(try set("background", color).background == RGBColor(red: 255, green: 128, blue: 0))
    #expect(try set("background", color).surround == .background)
  }
}

@Test("every key that is listed can be set")
func listedKeys() {
  let values = [
    "crop": "1x1+0+0", "rotate": "0", "mirror": "none", "size": "1x1", "width": "1", "height": "1",
    "mode": "fit",
    "background": "000000", "filter": "area", "linear": "1",
    "label": "a", "time": "utc",
  ]

  for key in ViewConfiguration.keys {
    #expect(throws: Never.self) {
      var view = ViewConfiguration()
      try view.set(key, to: try #require(values[key]))
    }
  }
}

@Test(
  "what makes no sense is refused, and the key at fault is named",
  arguments: [
    // Sizes: bounds, shapes, overflow.
    ("size=", "size"), ("size=x", "size"), ("size=100", "size"), ("size=1x2x3", "size"),
    ("size=0x10", "size"),
    ("size=10x0", "size"), ("size=65536x1", "size"), ("size=-1x5", "size"), ("size=+1x5", "size"),
    ("size= 1x5", "size"), ("size=1.5x2", "size"), ("size=99999999999999999999x1", "size"),
    ("size=1X2", "size"),
    ("size=٣x٤", "size"), ("width=0", "width"), ("width=65536", "width"), ("width=", "width"),
    ("w=0", "width"),
    ("height=1e3", "height"), ("h=", "height"),
    // Crops.
    ("crop=", "crop"), ("crop=1x1", "crop"), ("crop=1x1+0", "crop"), ("crop=1x1+0+0+0", "crop"),
    ("crop=1x1+0-1", "crop"), ("crop=1x1+-1+0", "crop"), ("crop=0x1+0+0", "crop"), ("crop=1x0+0+0", "crop"),
    ("crop=1,2,3", "crop"), ("crop=1,2,3,4,5", "crop"), ("crop=1,2,0,4", "crop"), ("crop=1,2,3x4", "crop"),
    ("crop=99999999999999999999x1+0+0", "crop"), ("crop=1x1+9223372036854775807+0", "crop"),
    ("crop=-1,0,1,1", "crop"),
    // ParameterParser.
    ("rotate=45", "rotate"), ("rotate=", "rotate"), ("rotate=90°", "rotate"), ("rotate=450", "rotate"),
    ("rotate=-360", "rotate"), ("rotate=９０", "rotate"), ("rotate=99999999999999999999", "rotate"),
    ("mirror=left", "mirror"), ("mirror=Both", "mirror"), ("mode=cover", "mode"), ("mode=", "mode"),
    ("filter=cubic", "filter"), ("linear=maybe", "linear"), ("linear=", "linear"),
    ("background=red", "background"), ("background=Blur", "background"), ("background=#12345", "background"),
    ("background=#1234567", "background"),
    ("background=＃102030", "background"),
    // Keys.
    ("colour=red", "view"), ("Size=1x1", "view"), (" size=1x1", "view"), ("=5", "view"), ("ширина=5", "view"),
    ("name=b", "view"), ("", "view 'a'"), ("size", "view 'a'"), ("crop=1x1+0+0,", "crop"),
    ("size=10x10,fast", "size"),
    // The same key twice.
    ("size=1x1,size=1x1", "size"), ("rotate=90,mode=fit,rotate=90", "rotate"),
  ])
func refusals(words: String, key: String) {
  let error = #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "a:\(words)") }
  #expect(error?.key == key)
  #expect(error?.reason.isEmpty == false)
}

@Test(
  "a key and its short form are the same key, and can't both be given",
  arguments: ["w=1,width=2", "height=3,h=4"])
func shortFormsAreDuplicates(words: String) {
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "a:\(words)") }
}

@Test("a side that is out of bounds is refused with its bounds")
func boundsAreNamed() {
  let error = #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "a:width=70000") }
  #expect(error?.description == "width: '70000' is not a whole number from 1 to 65535 (view 'a')")
}

@Test(
  "names are for files and URLs",
  arguments: ["a", "A-b_c.9", "front.door", "_x", "0", String(repeating: "n", count: 64)])
func goodNames(name: String) throws {
  #expect(try ViewConfiguration(parsing: name).name == name)
  #expect(try ViewConfiguration(parsing: "\(name):mode=fit").name == name)
}

@Test(
  "names that could leave a folder or hide are refused",
  arguments: [
    "", ".", "..", ".hidden", "-o", "a/b", "a b", "a\u{0}", "Küche", "a\n", "%2e", "{view}",
    String(repeating: "n", count: 65), "а",
  ])
func badNames(name: String) {
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: name) }
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "\(name):mode=fit") }
}

@Test("a value that is refused changes nothing")
func refusedValueChangesNothing() {
  var view = ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 3, height: 4), width: 5, height: 6)
  let before = view
  for (key, value) in [("crop", "1,2"), ("size", "7x0"), ("size", "7x8x9"), ("width", "x"), ("mode", "?")] {
    #expect(throws: ParameterError.self) { try view.set(key, to: value) }
  }
  #expect(view == before)
}

@Test("a later size overrides an earlier one key by key, and an open side opens it again")
func sizesOverride() throws {
  var view = try ViewConfiguration(parsing: "a:size=640x480")
  try view.set("width", to: "320")
  #expect([view.width, view.height] == [320, 480])
  try view.set("size", to: "x100")
  #expect([view.width, view.height] == [nil, 100])
}
