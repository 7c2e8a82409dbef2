// The lens of a camera in configuration files: as text, and as a mapping.
import GLPreview
import GLPreviewServer
import Testing

@testable import ServiceFoundation

@Suite("Lenses in configurations")
struct LensConfigurationTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private static func file(_ lens: String) -> String {
    "cameras:\n  door:\n    source: pattern:smpte\n    lens: \(lens)"
  }

  @Test(
    "a lens is the same as text and as a mapping with lists of numbers",
    arguments: [
      ("fisheye fov 190", "{model: fisheye, fov: 190}"),
      (
        "fisheye curve equisolid center 80,79 radius 78.5",
        "{model: fisheye, curve: equisolid, center: [80, 79], radius: 78.5}"
      ),
      (
        "pinhole matrix 998.2,998.3,639.5,359.5 size 1280x720 distortion -0.31,0.11,0,0,-0.02",
        "{model: pinhole, matrix: [998.2, 998.3, 639.5, 359.5], size: 1280x720, distortion: [-0.31, 0.11, 0, 0, -0.02]}"
      ),
      ("ptlens 0.01,-0.03,0.004 fov 68", "{model: ptlens, distortion: [0.01, -0.03, 0.004], fov: 68}"),
    ])
  func forms(text: String, mapping: String) throws {
    let lens = try Lens(parsing: text)
    #expect(try folder.load(Self.file(text)).cameras.first?.options.lens == lens)
    #expect(try folder.load(Self.file(mapping)).cameras.first?.options.lens == lens)
    #expect(try folder.load(Self.file("'\(lens)'")).cameras.first?.options.lens == lens)
  }

  @Test("a variable overrides a lens that a file has as a mapping")
  func variable() throws {
    let variable = ConfigurationEnvironment.variable(of: ["cameras", "door", "lens"])
    let camera = try folder.load(
      Self.file("{model: fisheye, fov: 190}"), environment: [variable: "ptlens 0,0,0"]
    ).cameras.first
    #expect(try camera?.options.lens == Lens(parsing: "ptlens 0,0,0"))
  }

  @Test("an option gives the camera of the command line the same lens as a file")
  func option() throws {
    var options = ConfigurationOptions()
    options.setSource("pattern:smpte")
    options.set(["cameras", ConfigurationOptions.cameraName, "lens"], to: "fisheye fov 190", by: "--lens")
    options.addView("door:yaw=20,hfov=60")
    let camera = try ConfigurationLoader(.all, options: options, environment: [:]).load().cameras.first
    let file = """
      cameras:
        camera:
          source: pattern:smpte
          lens: fisheye fov 190
          views: {door: {yaw: 20, hfov: 60}}
      """
    #expect(try camera == folder.load(file).cameras.first)
    #expect(try camera?.options.lens == Lens(parsing: "fisheye fov 190"))
  }

  @Test(
    "an invalid lens is reported with its key and what is wrong",
    arguments: [
      ("fish", "fisheye, pinhole, ptlens"), ("fisheye fov 0", "fov"), ("{fov: 190}", "has no model"),
      ("{model: fisheye, fox: 190}", "did you mean 'fov'?"), ("{model: fisheye, fov: 361}", "fov"),
      ("{model: fisheye, matrix: [1, 2, 3]}", "FX,FY,CX,CY"), ("{model: fisheye, matrix: []}", "matrix"),
      ("{model: pinhole, radius: 9}", "radius"), ("[fisheye]", "must be a single value"),
    ])
  func mistakes(lens: String, reason: String) throws {
    let problems = try folder.problems(Self.file(lens))
    #expect(
      problems.contains { $0.contains("cameras.door.lens") && $0.contains(reason) }, "\(problems)")
  }

  @Test(
    "views that can't be warped in any picture are reported",
    arguments: [
      ("yaw: 20", "projection: the camera has no lens"), ("projection: flat", "lens=..."),
      (#"corners: "0,0 9,0 9,9 0,9", crop: 9x9+0+0"#, "corners: does not go with crop"),
      (#"corners: "0,0 9,0 9,9 0,9", size: 20x10, mode: fit, background: blur"#, "background: blur does not"),
      ("rotate: 1.5, filter: lanczos", "filter: lanczos does not"),
      ("yaw: 20, lens: fisheye, linear: true", "linear: true does not"),
    ])
  func unwarpable(view: String, reason: String) throws {
    let problems = try folder.problems(
      "cameras:\n  door:\n    source: pattern:smpte\n    views:\n      main: {\(view)}")
    #expect(
      problems.contains { $0.contains("cameras.door.views.main.") && $0.contains(reason) }, "\(problems)")
  }

  @Test("tiles that can't be warped in any picture are reported, and a tile looks through its camera's lens")
  func tiles() throws {
    func problems(_ tile: String, lens: String) throws -> [String] {
      try folder.problems(
        """
        cameras:
          door:
            source: pattern:smpte
            \(lens)
        scenes:
          all: {tiles: [door: "\(tile)"]}
        """)
    }
    #expect(try problems("yaw=20", lens: "lens: fisheye") == [])
    for (tile, reason) in [
      ("yaw=20", "no lens"), ("rotate=1.5,filter=lanczos", "lanczos does not go with"),
      ("corners=0,0 9,0 9,2 0,2,mode=fit,background=blur", "blur does not go with corners"),
    ] {
      let found = try problems(tile, lens: "")
      #expect(
        found.contains { $0.contains("scenes.all.tiles: door: ") && $0.contains(reason) }, "\(found)")
    }
  }

  @Test("views have the keys of warps")
  func views() throws {
    let camera = try folder.load(
      """
      cameras:
        door:
          source: pattern:smpte
          lens: fisheye
          views:
            left: {yaw: -40.5, pitch: 10, hfov: 60, size: 64x36}
            round: {projection: cylinder, lens: fisheye curve stereographic}
            plate: {corners: "1,2 30,4 28,20 3,18"}
            level: {rotate: 1.5}
      """
    ).cameras.first
    let views = camera?.views.map(\.view) ?? []

    #expect(views.count == 4)
    #expect(views.first?.projection == Projection(yaw: -40.5, pitch: 10, hfov: 60))
    #expect(views.first { $0.name == "round" }?.lens == Lens(.curve(.stereographic)))
    #expect(views.first { $0.name == "round" }?.projection == Projection(.cylinder))
    #expect(views.first { $0.name == "plate" }?.corners?.topLeft == [1, 2])
    #expect(views.first { $0.name == "level" }?.angle == 1.5)
  }
}
