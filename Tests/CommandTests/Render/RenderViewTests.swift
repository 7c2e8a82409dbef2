import Testing

@Suite("View options")
struct RenderViewTests {
  private let folder: TestFolder
  private let pattern = "pattern:smpte,size=64x48"

  init() throws { folder = try TestFolder() }

  @Test(
    "a missing width or height follows the aspect ratio, and halves are rounded up",
    arguments: [
      ([], [64, 48]), (["--size", "32x"], [32, 24]), (["--size", "x12"], [16, 12]),
      (["--size", "10x"], [10, 8]),
      (["--width", "10"], [10, 8]), (["--height", "12"], [16, 12]),
      (["--width", "7", "--height", "5"], [7, 5]),
      (["--size", "100x100"], [100, 100]), (["--crop", "20x10+44+38"], [20, 10]),
      (["--crop", "44,38,20,10"], [20, 10]),
      (["--crop", "20x10+0+0", "--rotate", "90"], [10, 20]),
      (["--rotate", "-90", "--size", "24x"], [24, 32]),
      (["--rotate", "180"], [64, 48]), (["--size", "1x"], [1, 1]),
    ])
  func sizes(options: [String], expected: [Int]) async throws {
    #expect(try await folder.renderedSize(of: pattern, options) == expected)
  }

  @Test(
    "fill, fit and stretch give the requested size, and inside fits without enlarging",
    arguments: [
      ("fill", "30x30", [30, 30]), ("fit", "30x30", [30, 30]), ("stretch", "30x30", [30, 30]),
      ("inside", "32x32", [32, 24]), ("inside", "100x100", [64, 48]), ("inside", "10x40", [10, 8]),
    ])
  func modes(mode: String, asked: String, expected: [Int]) async throws {
    #expect(try await folder.renderedSize(of: pattern, ["--mode", mode, "--size", asked]) == expected)
  }

  @Test("options for a single view give the same picture as the keys of --view")
  func options() async throws {
    let words = [
      "crop=40x30+8+4", "rotate=270", "mirror=horizontal", "size=20x20", "mode=fit", "background=#204060",
      "filter=lanczos", "linear=true",
    ]
    let single = words.flatMap { word in
      let sides = word.split(separator: "=", maxSplits: 1)
      return ["--\(sides[0])", String(sides[1])]
    }

    #expect(try await folder.run(["render", pattern, "-o", "options.png"] + single).status == 0)
    let view = "a:" + words.joined(separator: ",")
    #expect(try await folder.run(["render", pattern, "-o", "view.png", "--view", view]).status == 0)

    #expect(try folder.bytes(of: "options.png") == folder.bytes(of: "view.png"))
  }

  @Test("--linear is accepted as a flag and with the value true or false")
  func linear() async throws {
    func picture(_ options: [String]) async throws -> [UInt8] {
      let result = try await folder.run(
        ["render", "--renderer", "reference"] + options + [pattern, "--size", "9x9", "-o", "-"])
      #expect(result.status == 0, "\(result.errors)")
      return result.output
    }

    let linear = try await picture(["--linear"])
    #expect(try await picture([]) != linear)
    #expect(try await picture(["--linear", "true"]) == linear)
    #expect(try await picture(["--linear=true"]) == linear)
    #expect(try await picture(["--linear", "false"]) == picture([]))
  }

  @Test("the last value of a repeated option is used")
  func repeated() async throws {
    #expect(try await folder.renderedSize(of: pattern, ["--size", "10x10", "--size", "20x"]) == [20, 15])
  }

  @Test("a view rendered with others is identical to the same view rendered alone")
  func manyViews() async throws {
    let views = ["small:size=16x", "turned:rotate=90,size=20x20", "corner:crop=8x8+56+40,size=24x24"]
    let options = views.flatMap { ["--view", $0] }
    #expect(try await folder.run(["render", pattern, "-o", "{view}.png"] + options).status == 0)
    for view in views {
      let result = try await folder.run("render", pattern, "-o", "-", "--format", "png", "--view", view)
      let name = view.prefix { $0 != ":" }
      #expect(try folder.bytes(of: "\(name).png") == result.output, "\(view)")
    }
  }

  @Test(
    "exact copies by the GPU are identical to those of the reference renderer",
    arguments: [
      [], ["--rotate", "90"], ["--rotate", "180", "--mirror", "horizontal"], ["--mirror", "both"],
      ["--crop", "13x7+50+41"], ["--crop", "1x1+63+47"], ["--size", "128x96", "--filter", "nearest"],
    ])
  func copies(options: [String]) async throws {
    #expect(try await folder.run(["render", pattern, "-o", "gpu.png"] + options).status == 0)
    let reference = ["render", pattern, "-o", "reference.png", "--renderer", "reference"]
    #expect(try await folder.run(reference + options).status == 0)
    #expect(try folder.bytes(of: "gpu.png") == folder.bytes(of: "reference.png"))
  }
}
