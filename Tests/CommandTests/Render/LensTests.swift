// Lenses, corners and free rotations as options of `render`.
import Testing

@Suite("Lens options")
struct LensTests {
  private let folder: TestFolder
  private let pattern = "pattern:smpte,size=64x48"

  init() throws { folder = try TestFolder() }

  @Test(
    "a warped view has the requested size, else one that follows from its points or its angle",
    arguments: [
      (["--lens", "fisheye fov 180", "--yaw", "-20", "--hfov", "60", "--size", "32x18"], [32, 18]),
      (["--lens", "fisheye", "--projection", "cylinder", "--hfov", "180", "--size", "40x10"], [40, 10]),
      (["--lens", "pinhole fov 70", "--projection", "flat"], [64, 48]),
      (["--corners", "0,0 40,0 40,30 0,30"], [40, 30]),
      (["--corners", "-8,0 40,0 40,30 -8,30", "--size", "24x"], [24, 15]),
      (["--rotate", "30", "--mode", "fit"], [80, 74]), (["--rotate", "30"], [41, 31]),
      (["--rotate", "-1.5", "--size", "20x20"], [20, 20]),
    ])
  func sizes(options: [String], expected: [Int]) async throws {
    #expect(try await folder.renderedSize(of: pattern, options) == expected)
  }

  @Test("--lens gives the same picture as the key lens of --view")
  func key() async throws {
    let lens = "fisheye fov 170 center 31,25"
    let options = [
      "--lens", lens, "--yaw", "-20", "--pitch", "10.5", "--roll", "-5", "--hfov", "60", "--size", "32x18",
    ]
    let single = try await folder.run(["render", pattern, "-o", "options.png"] + options)
    #expect(single.status == 0, "\(single.errors)")
    let view = "a:lens=\(lens),yaw=-20,pitch=10.5,roll=-5,hfov=60,size=32x18"
    let named = try await folder.run("render", pattern, "-o", "view.png", "--view", view)
    #expect(named.status == 0, "\(named.errors)")
    let both = try await folder.run(
      "render", pattern, "-o", "both.png", "--lens", "fisheye", "--view", view)
    #expect(both.status == 0, "\(both.errors)")

    #expect(try folder.bytes(of: "options.png") == folder.bytes(of: "view.png"))
    #expect(try folder.bytes(of: "both.png") == folder.bytes(of: "view.png"), "a view's own lens is used")
  }

  @Test(
    "invalid options exit with 64 and a one-line error that names the cause",
    arguments: [
      (["--lens", "fish", "--yaw", "0"], "lens"), (["--lens", "fisheye"], "--projection"),
      (["--yaw", "20"], "lens"), (["--lens", "fisheye", "--yaw", "400"], "yaw"),
      (["--lens", "fisheye", "--hfov", "180"], "hfov"),
      (["--lens", "fisheye", "--lens", "fisheye", "--yaw", "0"], "twice"),
      (["--lens", "fisheye", "--projection", "round"], "equirectangular"),
      (["--lens", "fisheye curve orthographic fov 200", "--yaw", "0"], "fov"),
      (["--lens", "pinhole size 100x100", "--yaw", "0"], "64x48"), (["--corners", "1,2"], "corners"),
      (["--corners", "0,0 9,0 9,9 0,9", "--crop", "9x9+0+0"], "crop"), (["--rotate", "361"], "rotate"),
      (["--rotate", "1", "--filter", "lanczos"], "lanczos"), (["--rotate", "1", "--linear=true"], "linear"),
    ])
  func invalid(options: [String], word: String) async throws {
    expectFailure(try await folder.run(["render", pattern] + options), 64, naming: word)
    #expect(try folder.names == [])
  }

  @Test("in a scene --lens names a source, and tiles have the keys of warps")
  func scene() async throws {
    let words = ["render", "--gpu", "cpu", "--timeout", "3600", "--scene", "grid:size=64x32", "a=\(pattern)"]
    let result = try await folder.run(
      words + ["--lens", "a=fisheye fov 180", "--tile", "a:yaw=20,hfov=60", "-o", "call.png"])
    #expect(result.status == 0, "\(result.errors)")

    expectFailure(
      try await folder.run(words + ["--lens", "fisheye", "-o", "x.png"]), 64, naming: "--lens", "NAME=")
  }
}
