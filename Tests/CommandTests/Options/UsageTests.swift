import Testing

@Suite("Usage errors")
struct UsageTests {
  private let folder: TestFolder
  private let pattern = "pattern:smpte,size=64x48"

  init() throws { folder = try TestFolder() }

  @Test(
    "an invalid option value exits with 64 and a one-line error that names the cause",
    arguments: [
      (["--crop", "65x48+0+0"], "64x48"), (["--crop", "10x10+55+0"], "10x10+55+0"),
      (["--crop", "10x10"], "crop"),
      (["--crop", "0x10+0+0"], "crop"), (["--crop", "10x10+-1+0"], "crop"),
      (["--crop", "999999999x9+999999999+0"], "999999999x9"),
      (["--crop", "99999999999999999999x1+0+0"], "crop"),
      (["--size", "0x0"], "size"), (["--size", "10"], "size"), (["--size", "x"], "size"),
      (["--size", "65536x1"], "65535"), (["--size", "65535x1"], "size"), (["--size", "60000x60000"], "size"),
      (["--width", "0"], "width"), (["--height", "ten"], "height"), (["--rotate", "400"], "360"),
      (["--mirror", "diagonal"], "vertical"), (["--mode", "zoom"], "stretch"),
      (["--background", "red"], "#RRGGBB"),
      (["--filter", "cubic"], "mitchell"), (["--linear=perhaps"], "linear"),
      (["--matrix", "bt2100"], "bt2020"),
      (["--range", "video"], "limited"), (["--input-format", "nv99"], "nv12"),
      (["--input-size", "10"], "input-size"),
      (["--input-size", "0x10"], "input-size"), (["--max-megapixels", "0"], "max-megapixels"),
      (["--max-megapixels", "nan"], "max-megapixels"), (["--max-megapixels", "0.001"], "64x48"),
      (["-o", ""], "-o"),
    ])
  func values(options: [String], word: String) async throws {
    expectFailure(try await folder.run(["render", pattern] + options), 64, naming: word)
    #expect(try folder.names == [])
  }

  @Test(
    "an invalid --view exits with 64 and a one-line error that names the cause",
    arguments: [
      (["a:size=0x0"], "a"), (["left:size=4x4", "right:mode=zoom"], "right"), (["right:bogus=1"], "bogus"),
      (["a:size"], "KEY=VALUE"), (["a:"], "a"), (["a:size=4x4,size=5x5"], "twice"),
      (["twin", "twin"], "twin"),
      ([":size=4x4"], "name"), (["a/b:size=4x4"], "a/b"), (["..:size=4x4"], "'..'"), (["a b"], "a b"),
      (["ä"], "ä"), (["far:crop=1x1+64+0"], "far"),
      (["a:" + String(repeating: "x", count: 9)], "KEY=VALUE"), ([String(repeating: "n", count: 65)], "64"),
    ])
  func views(views: [String], word: String) async throws {
    let options = views.flatMap { ["--view", $0] }
    expectFailure(try await folder.run(["render", pattern, "-o", "{view}.png"] + options), 64, naming: word)
    #expect(try folder.names == [])
  }

  @Test("an invalid value in one of several views is reported with that view's name and the key")
  func culprit() async throws {
    let views = ["--view", "entrance:size=4x4", "--view", "courtyard:size=0x4"]
    let result = try await folder.run(["render", pattern, "-o", "{view}.png"] + views)
    expectFailure(result, 64, naming: "courtyard", "size")
  }

  @Test("combining --view with an option for a single view exits with 64")
  func mixed() async throws {
    let result = try await folder.run("render", pattern, "--view", "a:size=4x4", "--size", "8x8")
    expectFailure(result, 64, naming: "--size", "--view")
    #expect(try folder.names == [])
  }

  @Test(
    "arguments that can't be parsed exit with 64, and the error refers to --help",
    arguments: [
      ["render"],
      ["render", "pattern:smpte", "--sise", "4x4"],
      ["render", "pattern:smpte", "--quality", "0"], ["render", "pattern:smpte", "--quality", "101"],
      ["render", "pattern:smpte", "--quality", "high"], ["render", "pattern:smpte", "--max-bytes", "0"],
      ["render", "pattern:smpte", "--frames", "0"], ["render", "pattern:smpte", "--every", "0"],
      ["render", "pattern:smpte", "--loop", "0"], ["render", "pattern:smpte", "--loop", "-1"],
      ["render", "pattern:smpte", "--subsampling", "411"], ["render", "pattern:smpte", "--format", "gif"],
      ["render", "pattern:smpte", "--gpu", "fast"], ["render", "pattern:smpte", "--gpu", "-1"],
      ["render", "pattern:smpte", "--renderer", "cpu"], ["render", "pattern:smpte", "--crop"],
      ["devices", "--gpu", "fast"], ["devices", "all"], ["verify", "--random", "-1"],
      ["verify", "--seed", "x"], ["bench", "--frames", "0"], ["bench", "--seconds", "0"], ["bench", "W1"],
    ])
  func grammar(arguments: [String]) async throws {
    let result = try await folder.run(arguments)
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("Error: "))
    #expect(result.errors.contains("--help"))
    #expect(try folder.names == [])
  }

  @Test(
    "an unknown command exits with 64; the error suggests the nearest one and hides secrets",
    arguments: [
      (["rendre"], "unknown command 'rendre'; did you mean 'render'?"),
      (["rendre", "pattern:smpte", "--size", "4x4"], "unknown command 'rendre'; did you mean 'render'?"),
      (["photo.jpg"], "unknown command 'photo.jpg' ("), ([""], "unknown command '' ("),
      (["rtsp://user:secret@camera/x"], "unknown command 'rtsp://"),
    ])
  func command(arguments: [String], reason: String) async throws {
    let result = try await folder.run(arguments)
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("glpreview: \(reason)"))
    #expect(result.errors.contains("glpreview --help") && !result.errors.contains("secret"))
    #expect(try folder.names == [])
  }

  @Test(
    "an invalid pattern source exits with 64, and the error names it",
    arguments: [
      ("pattern:", "zoneplate"), ("pattern:bars", "zoneplate"), ("pattern:smpte,size=0x9", "0x9"),
      ("pattern:smpte,size=99999x99999", "99999x99999"), ("pattern:smpte,size=9", "size"),
      ("pattern:smpte,fps=0", "fps"), ("pattern:smpte,colour=red", "colour"),
    ])
  func patterns(source: String, word: String) async throws {
    expectFailure(try await folder.run("render", source), 64, naming: source, word)
    #expect(try folder.names == [])
  }

  @Test("raw frames without --input-size exit with 64")
  func rawWithoutSize() async throws {
    try folder.write(SourceBytes.nv12(0..<1), to: "video.nv12")
    expectFailure(
      try await folder.run("render", "video.nv12", "--input-format", "nv12"), 64, naming: "video.nv12",
      "--input-size")
  }

  @Test("an error is one line without escape characters, even if the arguments contain them")
  func oneLine() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "video.y4m")

    expectFailure(try await folder.render("no\nsuch\u{1B}[31m.jpg"), 66, naming: "such")
    expectFailure(try await folder.render("video.y4m", "-o", "no\nsuch/x.jpg"), 74, naming: "such")
    expectFailure(try await folder.render("video.y4m", "-o", "x\n.gif"), 64, naming: ".gif")
    expectFailure(try await folder.render("video.y4m", "-o", "{\n}.jpg"), 64, naming: "}.jpg")
    expectFailure(try await folder.render("video.y4m", "--view", "a\nb"), 64, naming: "a")
    expectFailure(try await folder.render("video.y4m", "--crop", "a\nb"), 64, naming: "crop")

    let result = try await folder.render("video.y4m", "-o", "no\u{1B}[31m/x.jpg")
    #expect(!result.errors.contains("\u{1B}"), "an error must not paint the terminal")
  }
}
