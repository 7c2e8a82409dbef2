// Tiles in a line.
import PreviewCore
import Testing

@Test("a tile string with only a name has default settings")
func bareTiles() throws {
  #expect(try Tile(parsing: "ann") == Tile("ann"))
  #expect(try Tile(parsing: "Ann-Marie 2") == Tile("Ann-Marie 2"))
}

@Test("a tile string accepts the view's keys, and at, z, radius and opacity")
func tileKeys() throws {
  var tile = Tile("ann", rectangle: Rectangle(x: 3, y: 4, width: 20, height: 10), zIndex: -1)
  (tile.cornerRadius, tile.opacity) = (7.5, 0.5)
  tile.view.crop = Rectangle(x: 1, y: 2, width: 30, height: 40)
  tile.view.rotation = .clockwise270
  tile.view.mirroring = .horizontal

  #expect(
    try Tile(
      parsing: "ann:crop=1,2,30,40,rotate=-90,mirror=horizontal,at=20x10+3+4,z=-1,radius=7.5,opacity=0.5")
      == tile)
}

@Test("background=blur gives a tile a blurred surround, and a colour gives a background")
func tileBackgrounds() throws {
  let blurred = try Tile(parsing: "ann:mode=fit,background=blur")
  #expect(blurred.view.surround == .blur)
  #expect(blurred.view.contentMode == .fit)
  let colored = try Tile(parsing: "ann:background=#102030")
  #expect(colored.view.surround == .background)
  #expect(colored.view.background == RGBColor(red: 0x10, green: 0x20, blue: 0x30))
}

@Test(
  "an invalid tile string is rejected with the key at fault",
  arguments: [
    ("tile", ""), ("tile", ":mode=fit"), ("tile 'a'", "a:"), ("tile 'a'", "a:mode"), ("mode", "a:mode=zoom"),
    ("mode", "a:mode=fit,mode=fit"), ("tile", "a:size=4x4"), ("tile", "a:width=4"), ("tile", "a:shape=round"),
    ("at", "a:at=4x4"), ("at", "a:at=0x4+0+0"), ("z", "a:z=top"), ("z", "a:z=1001"), ("z", "a:z=\(Int.min)"),
    ("radius", "a:radius=-1"),
    ("opacity", "a:opacity=1.1"), ("opacity", "a:opacity=nan"),
  ])
func refusedTiles(key: String, text: String) {
  #expect {
    try Tile(parsing: text)
  } throws: { error in
    (error as? ParameterError)?.key == key
  }
}
