// Scenes in a line.
import PreviewCore
import Testing

@Test("a layout name alone is a 1280x720 scene with default settings")
func bareScenes() throws {
  let size = Size(width: 1280, height: 720)
  #expect(try Scene(parsing: "grid") == Scene(size: size))
  #expect(try Scene(parsing: "spotlight") == Scene(size: size, layout: .spotlight()))
  #expect(try Scene(parsing: "inset") == Scene(size: size, layout: .inset()))
  #expect(try Scene(parsing: "free") == Scene(size: size, layout: .free))
}

@Test("every scene key sets its property")
func sceneKeys() throws {
  #expect(
    try Scene(parsing: "grid:size=640x360,gap=8,radius=12,aspect=4:3,background=#101418")
      == Scene(
        size: Size(width: 640, height: 360), background: .color(RGBColor(red: 0x10, green: 0x14, blue: 0x18)),
        gap: 8, tileAspect: Size(width: 4, height: 3), cornerRadius: 12))
  #expect(
    try Scene(parsing: "spotlight:main=2,edge=left,share=0.3").layout
      == .spotlight(main: 2, strip: Scene.Strip(edge: .left, share: 0.3)))
  #expect(
    try Scene(parsing: "inset:corner=topLeft,share=1,margin=0,radius=5").layout
      == .inset(Scene.Inset(corner: .topLeft, share: 1, margin: 0, cornerRadius: 5)))
  #expect(try Scene(parsing: "inset:radius=5").cornerRadius == 0)
  #expect(
    try Scene(parsing: "grid:background=#000000-ffffff").background
      == .gradient(LinearGradient(from: .black, to: .white)))
  #expect(try Scene(parsing: "grid:background=blur:front-door").background == .blur(source: "front-door"))
}

@Test(
  "an invalid scene string is rejected with the key at fault",
  arguments: [
    ("layout", ""), ("layout", "Grid"), ("layout", "grid "), ("scene", "grid:"), ("scene", "grid:gap"),
    ("scene", "grid:colour=red"), ("gap", "grid:gap=1,gap=1"), ("gap", "grid:gap=-1"), ("gap", "grid:gap="),
    ("gap", "grid:gap=70000"), ("gap", "grid:gap=+1"), ("gap", "grid:gap=99999999999999999999"),
    ("size", "grid:size=0x5"), ("size", "grid:size=640"), ("size", "grid:size=640x360x2"),
    ("aspect", "grid:aspect=16x9"), ("background", "grid:background=red"),
    ("background", "grid:background=blur:"),
    ("background", "grid:background=#000000-"), ("background", "grid:background=#000000-#000000-#000000"),
    ("main", "grid:main=1"), ("margin", "spotlight:margin=1"), ("main", "spotlight:main=49"),
    ("edge", "spotlight:edge=up"), ("share", "spotlight:share=0"), ("share", "inset:share=nan"),
    ("share", "inset:share=1.5"), ("corner", "inset:corner=left"),
  ])
func refusedScenes(key: String, text: String) {
  #expect {
    try Scene(parsing: text)
  } throws: { error in
    (error as? ParameterError)?.key == key
  }
}
