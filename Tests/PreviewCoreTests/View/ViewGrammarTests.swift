// The words of a view: every key in every form, and everything that must be refused with a reason.
// The same grammar serves `--view`, configuration files and URLs (DESIGN.md "The command"; DECISIONS.md 20, 23).
import PreviewCore
import Testing

@Test("a view string with only a name has default settings")
func nameAlone() throws {
  let view = try ViewConfiguration(parsing: "porch")
  #expect(view == ViewConfiguration(name: "porch"))
  #expect(view.crop == nil && view.width == nil && view.height == nil)
  #expect(view.contentMode == .fill && view.filter == .auto && view.light == .encoded)
  #expect(view.rotation == .none && view.mirroring == .none && view.background == .black)
}

@Test("view keys can be combined in one string")
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

@Test("a crop is parsed as WxH+X+Y or X,Y,W,H, at any place in the string")
func cropForms() throws {
  let expected = Rectangle(x: 10, y: 20, width: 640, height: 480)
  for text in ["a:crop=640x480+10+20", "a:crop=10,20,640,480", "a:rotate=0,crop=10,20,640,480,mirror=none"] {
    #expect(try ViewConfiguration(parsing: text).crop == expected)
  }
  #expect(try ViewConfiguration(parsing: "a:crop=1x1+0+0").crop == Rectangle(x: 0, y: 0, width: 1, height: 1))
}

@Test("a size is parsed with both sides or one, also as width, height, w and h")
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
  "a rotation by quarter turns is a multiple of 90 degrees clockwise",
  arguments: [
    ("0", Rotation.none), ("90", .clockwise90), ("180", .half), ("270", .clockwise270),
    ("-90", .clockwise270),
    ("-180", .half), ("-270", .clockwise90), ("360", .none),
  ])
func rotationForms(text: String, rotation: Rotation) throws {
  #expect(try ViewConfiguration(parsing: "a:rotate=\(text)").rotation == rotation)
}

@Test("mode, filter, mirror, linear and background accept each of their values")
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

@Test("every listed view key can be set")
func listedKeys() {
  let values = [
    "crop": "1x1+0+0", "rotate": "0", "mirror": "none", "size": "1x1", "width": "1", "height": "1",
    "mode": "fit",
    "background": "000000", "filter": "area", "linear": "1",
    "label": "a", "time": "utc", "lens": "fisheye", "projection": "flat", "yaw": "1", "pitch": "1",
    "roll": "1",
    "hfov": "90", "corners": "0,0 9,0 9,9 0,9",
  ]

  for key in ViewConfiguration.keys {
    #expect(throws: Never.self) {
      var view = ViewConfiguration()
      try view.set(key, to: try #require(values[key]))
    }
  }
}

@Test(
  "an invalid view string is rejected with the key at fault and a reason",
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
    ("rotate=", "rotate"), ("rotate=90°", "rotate"), ("rotate=450", "rotate"),
    ("rotate=-361", "rotate"), ("rotate=nan", "rotate"), ("rotate=９０", "rotate"),
    ("rotate=99999999999999999999", "rotate"),
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
  "a key and its short form cannot both be given",
  arguments: ["w=1,width=2", "height=3,h=4"])
func shortFormsAreDuplicates(words: String) {
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "a:\(words)") }
}

@Test("an out-of-range side is rejected with its bounds")
func boundsAreNamed() {
  let error = #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "a:width=70000") }
  #expect(error?.description == "width: '70000' is not a whole number from 1 to 65535 (view 'a')")
}

@Test(
  "a view name of up to 64 letters, digits, '.', '-' and '_' is accepted",
  arguments: ["a", "A-b_c.9", "front.door", "_x", "0", String(repeating: "n", count: 64)])
func goodNames(name: String) throws {
  #expect(try ViewConfiguration(parsing: name).name == name)
  #expect(try ViewConfiguration(parsing: "\(name):mode=fit").name == name)
}

@Test(
  "an empty, hidden, path-like, non-ASCII or too long view name is rejected",
  arguments: [
    "", ".", "..", ".hidden", "-o", "a/b", "a b", "a\u{0}", "Küche", "a\n", "%2e", "{view}",
    String(repeating: "n", count: 65), "а",
  ])
func badNames(name: String) {
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: name) }
  #expect(throws: ParameterError.self) { try ViewConfiguration(parsing: "\(name):mode=fit") }
}

@Test("a rejected value leaves the view unchanged")
func refusedValueChangesNothing() {
  var view = ViewConfiguration(crop: Rectangle(x: 1, y: 2, width: 3, height: 4), width: 5, height: 6)
  let before = view
  for (key, value) in [("crop", "1,2"), ("size", "7x0"), ("size", "7x8x9"), ("width", "x"), ("mode", "?")] {
    #expect(throws: ParameterError.self) { try view.set(key, to: value) }
  }
  #expect(view == before)
}

@Test("setting width keeps the height, and setting size to x100 clears the width")
func sizesOverride() throws {
  var view = try ViewConfiguration(parsing: "a:size=640x480")
  try view.set("width", to: "320")
  #expect([view.width, view.height] == [320, 480])
  try view.set("size", to: "x100")
  #expect([view.width, view.height] == [nil, 100])
}
