// Several picture files in one run.
import Foundation
import Synchronization
import Testing

@testable import glpreview_cli

@Suite("Several picture files in one run")
struct BatchTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// Writes pictures of these patterns and sizes.
  private func write(_ pictures: (pattern: String, name: String)..., options: [String] = []) async throws {
    for (pattern, name) in pictures { try await folder.writePicture(of: pattern, to: name, options) }
  }

  /// Pictures of several sizes and formats, one of them turned by EXIF.
  private func writeAlbum() async throws -> [String] {
    try await write(
      ("smpte,size=64x48", "a.jpg"), ("gradient,size=96x64", "b.png"), ("zoneplate,size=33x77", "c.jpg"))
    try await write(("zoneplate,size=320x240", "d.jpg"), options: ["--subsampling", "444"])
    try folder.write(SourceBytes.tagged(folder.bytes(of: "d.jpg"), orientation: 6), to: "e.jpg")
    try await write(("counter,size=64x48", "f.png"))
    return try folder.names
  }

  @Test(
    "each picture of a batch is identical to that of a run of its own", arguments: ["exact", "fast"],
    ["gpu", "reference"])
  func alone(decode: String, renderer: String) async throws {
    let names = try await writeAlbum()
    for name in ["many", "one"] { try folder.makeFolder(name) }
    let options = ["--size", "24x", "--mask", "5x5+1+1", "--decode", decode, "--renderer", renderer]

    // Twice, so that sizes come again.
    let many = try await folder.run(
      ["render"] + names + names + ["-o", "many/{index}-{name}.jpg"] + options)

    #expect(many.status == 0)
    #expect(many.errors.isEmpty, "\(many.errors)")
    #expect(many.output.isEmpty)
    for (index, name) in names.enumerated() {
      #expect(try await folder.run(["render", name, "-o", "one/{name}.jpg"] + options).status == 0)
      let stem = try #require(name.split(separator: ".").first)
      let expected = try folder.bytes(of: "one/\(stem).jpg")
      for number in [index + 1, index + 1 + names.count] {
        #expect(try folder.bytes(of: "many/\(number)-\(stem).jpg") == expected, "\(number) \(name)")
      }
    }
  }

  @Test("--json reports files in the given order, and --decode fast is the default of a batch")
  func reports() async throws {
    try await write(("smpte,size=320x240", "b.jpg"), ("smpte,size=64x48", "a.png"))
    let arguments = [
      "b.jpg", "a.png", "--view", "x:size=8x", "--view", "y:size=4x", "--json", "-o", "null:jpg",
    ]

    let fast = try await folder.run(["render"] + arguments)
    let exact = try await folder.run(["render", "--decode", "exact"] + arguments)

    #expect(fast.status == 0 && fast.errors.isEmpty, "\(fast.errors)")
    let reports = try fast.reports
    #expect(reports.map(\.source) == ["b.jpg", "b.jpg", "a.png", "a.png"])
    #expect(reports.map(\.index) == [1, 1, 2, 2])
    #expect(reports.map(\.view) == ["x", "y", "x", "y"])
    #expect(reports.map(\.frame) == [0, 0, 0, 0])
    #expect(reports.map(\.width) == [8, 4, 8, 4])
    #expect(reports.map(\.height) == [6, 3, 6, 3])
    #expect(reports.map(\.decodedEighths) == [1, 1, 8, 8])
    #expect(try exact.reports.map(\.decodedEighths) == [8, 8, 8, 8])
  }

  @Test("default output names come from the files; standard output gets pictures in the given order")
  func outputs() async throws {
    try await write(("smpte,size=16x8", "b.png"), ("gradient,size=8x16", "a.png"))
    #expect(try await folder.render("b.png", "a.png").status == 0)
    #expect(try folder.names == ["a-main.jpg", "a.png", "b-main.jpg", "b.png"])

    let result = try await folder.render("b.png", "a.png", "-o", "-")

    #expect(result.output == (try folder.bytes(of: "b-main.jpg") + folder.bytes(of: "a-main.jpg")))
  }

  @Test("each unreadable file of a batch gets an error line, and the other files are rendered")
  func broken() async throws {
    try await write(("smpte,size=64x48", "a.jpg"), ("smpte,size=16x8", "b.png"))
    try folder.write(Array(folder.bytes(of: "a.jpg").prefix(400)), to: "broken.jpg")
    try folder.makeFolder("album")

    let result = try await folder.render(
      "a.jpg", "broken.jpg", "missing.jpg", "album", "b.png", "-o", "out-{name}.png")

    #expect(result.status == 65)
    let lines = result.errors.split(separator: "\n")
    try #require(lines.count == 4, "\(result.errors)")
    #expect(lines[0].hasPrefix("glpreview: broken.jpg: "))
    #expect(lines[1] == "glpreview: missing.jpg: no such file")
    #expect(lines[2] == "glpreview: album: is a directory")
    #expect(lines[3] == "glpreview: 3 of 5 SOURCEs could not be rendered")
    #expect(try folder.names.filter { $0.hasPrefix("out") } == ["out-a.png", "out-b.png"])
  }

  @Test("a batch whose files are all missing exits with 66")
  func missing() async throws {
    let result = try await folder.render("a.jpg", "b.jpg", "-o", "{name}.png")
    #expect(result.status == 66)
    #expect(result.errors.split(separator: "\n").count == 3, "\(result.errors)")
    #expect(try folder.names == [])
  }

  @Test("a file too small for the crop is named in the error, and the other files are rendered")
  func misfit() async throws {
    try await write(("smpte,size=64x48", "large.png"), ("smpte,size=16x8", "small.png"))
    let result = try await folder.render(
      "small.png", "large.png", "--crop", "32x32+0+0", "-o", "out-{name}.png")
    #expect(result.status == 65)
    #expect(result.errors.hasPrefix("glpreview: small.png: "), "\(result.errors)")
    #expect(try folder.names == ["large.png", "out-large.png", "small.png"])
  }

  @Test("a batch ends with 74 if the output folder does not exist")
  func unwritable() async throws {
    try await write(("smpte,size=16x8", "a.png"), ("smpte,size=16x8", "b.png"))
    expectFailure(
      try await folder.render("a.png", "b.png", "-o", "missing/{name}.png"), 74, naming: "missing/a.png")
  }

  @Test("a file with several frames is rejected in a batch unless --frames 1 is given")
  func frames() async throws {
    try folder.write(SourceBytes.y4m(0..<3), to: "video.y4m")
    try await write(("smpte,size=16x8", "a.png"))
    let arguments = ["video.y4m", "a.png", "-o", "{index:02}.jpg"]

    let refused = try await folder.run(["render"] + arguments)
    let first = try await folder.run(["render", "--frames", "1"] + arguments)

    #expect(refused.status == 65)
    #expect(refused.errors.contains("video.y4m: has several frames"), "\(refused.errors)")
    #expect(first.status == 0, "\(first.errors)")
    #expect(try folder.names == ["01.jpg", "02.jpg", "a.png", "video.y4m"])
  }

  @Test(
    "sources and options that a batch does not support exit with 64, and nothing is written",
    arguments: [
      (["-o", "x.png"], "x.png; put {name}"), (["-o", "{frame}.png"], "0.png"),
      (["album/a.png", "-o", "new-{name}.png"], "a.png and album/a.png"), (["a.png"], "a-main.jpg"),
      (["--view", "l", "--view", "r", "-o", "{name}.jpg"], "{view}"),
      (["pattern:smpte"], "pattern:smpte"), (["-"], "-:"), (["/dev/video0"], "/dev/video0"),
      (["http://camera/now.jpg"], "http://camera/now.jpg"), (["exec:cat a.png"], "exec:"), (["pipe"], "pipe"),
      (["-o", "{name}.y4m"], "video"), (["-o", "-", "--format", "y4m"], "video"),
      (["--frames", "2"], "--frames 2"), (["--every", "2"], "--every"), (["--loop", "2"], "--loop"),
      (["--interval", "1"], "--interval"), (["--duration", "1"], "--duration"),
      (["--lossless"], "--lossless"),
      (["--warmup", "1"], "--warmup"), (["--control", "a=1"], "--control"),
      (["--header", "a: b"], "--header"), (["--labels", "names"], "--scene"),
      (["--scene", "grid", "--from-file", "list"], "--from-file"),
    ])
  func refused(arguments: [String], word: String) async throws {
    try await write(("smpte,size=16x8", "a.png"), ("smpte,size=16x8", "b.png"))
    try folder.makeFIFO("pipe")
    try folder.makeFolder("album")
    let result = try await folder.run(["render", "a.png", "b.png"] + arguments)
    expectFailure(result, 64, naming: word)
    #expect(try folder.names == ["a.png", "album", "b.png", "pipe"])
  }

  @Test("a batch may replace a file with its own picture, but not with another file's")
  func inPlace() async throws {
    try await write(("smpte,size=16x8", "1.png"), ("smpte,size=32x8", "2.png"))
    let bytes = try folder.bytes(of: "1.png")

    let refused = try await folder.render("./2.png", "1.png", "-o", "{index}.png")
    expectFailure(refused, 64, naming: "./2.png", "1.png")
    #expect(try folder.bytes(of: "1.png") == bytes)

    #expect(try await folder.render("./2.png", "1.png", "--size", "4x", "-o", "{name}.png").status == 0)
    #expect(PictureFacts(try folder.bytes(of: "1.png")) == PictureFacts(format: .png, width: 4, height: 2))
    #expect(PictureFacts(try folder.bytes(of: "2.png")) == PictureFacts(format: .png, width: 4, height: 1))
  }

  @Test(
    "--from-file reads file names, one per line, from a file or standard input", arguments: ["list", "-"])
  func list(name: String) async throws {
    try await write(("smpte,size=8x8", "a.png"), ("smpte,size=16x8", "b b.png"), ("smpte,size=24x8", "c.png"))
    // With a byte order mark, as editors on Windows write it, and a file URL.
    let url = "file://\(folder["b b.png"].path.replacing(" ", with: "%20"))"
    let list = Array("\u{FEFF}b b.png\r\n\r\n./c.png\n\n\(url)".utf8)
    try folder.write(list, to: "list")

    let result = try await folder.run(
      ["render", "a.png", "--from-file", name, "-o", "{index:02}.png"], input: list)

    #expect(result.status == 0, "\(result.errors)")
    let widths = try ["01.png", "02.png", "03.png", "04.png"].map {
      PictureFacts(try folder.bytes(of: $0))?.width
    }
    #expect(widths == [8, 16, 24, 16])
  }

  @Test("file URLs work alone, in a batch and in a scene, and a URL with a host exits with 64")
  func fileURLs() async throws {
    try await write(("smpte,size=8x8", "a b.png"), ("smpte,size=16x8", "c.png"))
    let url = "file://\(folder["a b.png"].path.replacing(" ", with: "%20"))"

    #expect(try await folder.run("render", url, "-o", "one-{name}.png").status == 0)
    #expect(try await folder.run("render", url, "c.png", "-o", "many-{name}.png").status == 0)
    #expect(try await folder.run("render", "--scene", "grid", url, "x=c.png", "-o", "scene.png").status == 0)
    #expect(
      try folder.names == ["a b.png", "c.png", "many-a b.png", "many-c.png", "one-a b.png", "scene.png"])

    // A picture may not replace another of the files, however that is named.
    expectFailure(
      try await folder.run("render", url, "c.png", "-o", folder["a b.png"].path, "--view", "v:size=4x"), 64,
      naming: "a b.png")
    expectFailure(
      try await folder.run("render", "file://host/a.png", "-o", "x.png"), 64, naming: "file:///PATH")
  }

  @Test("--from-file with a single file runs as a batch")
  func listOfOne() async throws {
    try folder.write(Array("missing.png\n".utf8), to: "list")
    let result = try await folder.render("--from-file", "list", "-o", "x.png")
    #expect(result.status == 66)
    #expect(result.errors.hasSuffix("1 of 1 SOURCEs could not be rendered\n"), "\(result.errors)")
  }

  @Test("--from-file with a missing file, an empty file or a folder exits with 66")
  func badList() async throws {
    try folder.write([], to: "empty")
    try folder.write(Array("\n\n".utf8), to: "blank")
    try folder.makeFolder("folder")
    for (name, word) in [
      ("missing", "no such file"), ("empty", "no files"), ("blank", "no files"), ("folder", "directory"),
    ] {
      expectFailure(try await folder.run("render", "--from-file", name), 66, naming: name, word)
    }
  }

  @Test("SIGINT ends a batch between files with 130 and leaves only complete files")
  func interruption() async throws {
    try await write(("smpte,size=64x48", "a.png"))
    let list = [String](repeating: "a.png", count: 30_000).joined(separator: "\n")
    try folder.write(Array(list.utf8), to: "list")
    try folder.makeFolder("out")
    let command = try await RunningCommand(
      ["render", "--from-file", "list", "-o", "out/{index}.png", "--json"], in: folder)
    for _ in 0..<3 { #expect(await command.nextLine() != nil) }

    command.send(SIGINT)
    let result = try await command.result()

    #expect(result.status == 130)
    #expect(result.errors.isEmpty, "\(result.errors)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder["out"].path)
    #expect(names.count >= 3)
    for name in names { #expect(PictureFacts(try folder.bytes(of: "out/\(name)")) != nil, "\(name)") }
  }
}
