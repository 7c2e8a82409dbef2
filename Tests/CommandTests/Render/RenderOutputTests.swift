import Foundation
import Testing

@testable import glpreview_cli

@Suite("Output names and formats")
struct RenderOutputTests {
  private let folder: TestFolder
  private let pattern = "pattern:smpte,size=16x8"
  private let counter = "pattern:counter,size=16x8"

  init() throws { folder = try TestFolder() }

  @Test("the default output is a JPEG in the current folder, named after the source and the view")
  func defaultName() async throws {
    try folder.makeFolder("album")
    #expect(try await folder.render(pattern, "-o", "album/photo.of.me.png").status == 0)

    let result = try await folder.render("album/photo.of.me.png")

    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(result.output.isEmpty)
    #expect(try folder.names == ["album", "photo.of.me-main.jpg"])
    #expect(
      PictureFacts(try folder.bytes(of: "photo.of.me-main.jpg"))
        == PictureFacts(format: .jpeg, width: 16, height: 8, chroma: "2x2"))
  }

  @Test("the default output names of several views contain the view names")
  func defaultNames() async throws {
    let result = try await folder.render(pattern, "--view", "left:crop=8x8+0+0", "--view", "small:size=4x")
    #expect(result.status == 0)
    #expect(try folder.names == ["smpte-left.jpg", "smpte-small.jpg"])
  }

  @Test("--format sets the format and the extension of the default output name")
  func defaultNameOfFormat() async throws {
    #expect(try await folder.render(pattern, "--format", "png").status == 0)
    #expect(try folder.names == ["smpte-main.png"])
    let name = try #require(try folder.names.first)
    #expect(PictureFacts(try folder.bytes(of: name))?.format == .png)
  }

  @Test("the default output name for standard input ends in -main.jpg")
  func defaultNameOfStandardInput() async throws {
    let result = try await folder.render("-", input: SourceBytes.y4m(0..<1))
    #expect(result.status == 0)
    #expect(result.output.isEmpty)
    let names = try folder.names
    #expect(names.count == 1)
    #expect(names.allSatisfy { $0.hasSuffix("-main.jpg") })
  }

  @Test(
    "a live source's default output name comes from its address, without credentials",
    arguments: [
      ("/dev/video0,size=640x480", "video0"), ("exec:cat a/b.y4m", "exec"),
      ("rtsp://me:secret@camera", "stream"),
      ("http://me:secret@camera/cgi/now.jpg?user=me&password=x", "now"), ("http://camera/", "stream"),
    ])
  func liveNames(source: String, stem: String) throws {
    let output = try RenderOutput(nil, source: source, format: nil)
    #expect(output.name(view: "main", frame: 0) == "\(stem)-main.jpg")
  }

  @Test(
    "the extension of the output name selects the format, in upper or lower case",
    arguments: [
      ("a.jpg", PictureFacts.Format.jpeg), ("a.jpeg", .jpeg), ("a.JPG", .jpeg), ("a.png", .png),
      ("a.Png", .png),
    ])
  func ending(name: String, format: PictureFacts.Format) async throws {
    #expect(try await folder.render(pattern, "-o", name).status == 0)
    #expect(PictureFacts(try folder.bytes(of: name))?.format == format)
  }

  @Test("an unknown extension exits with 64 unless --format is given")
  func format() async throws {
    expectFailure(try await folder.render(pattern, "-o", "a.gif"), 64, naming: "a.gif", ".png", "--format")
    #expect(try folder.names == [])
    #expect(try await folder.render(pattern, "-o", "a.thumbnail", "--format", "png").status == 0)
    #expect(PictureFacts(try folder.bytes(of: "a.thumbnail"))?.format == .png)
  }

  @Test("{view}, {frame} and {frame:05} are replaced at every occurrence")
  func places() async throws {
    let result = try await folder.render(
      counter, "--frames", "2", "--view", "a", "--view", "b:size=4x4", "-o",
      "{frame}-{view}-{view}-{frame:05}.png")
    #expect(result.status == 0)
    #expect(
      try folder.names == ["0-a-a-00000.png", "0-b-b-00000.png", "1-a-a-00001.png", "1-b-b-00001.png"])
  }

  @Test("{name} is the source's file name without folder and extension, and {index} starts at 1")
  func sourcePlaces() async throws {
    try folder.makeFolder("album")
    #expect(try await folder.render(pattern, "-o", "album/a.b.png").status == 0)
    let result = try await folder.render("album/a.b.png", "-o", "{index}-{index:03}-{name}-{view}.png")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try folder.names == ["1-001-a.b-main.png", "album"])
  }

  @Test("{view} can be a folder in the output name")
  func folders() async throws {
    try folder.makeFolder("main")
    #expect(try await folder.render(pattern, "-o", "{view}/{frame}.png").status == 0)
    #expect(PictureFacts(try folder.bytes(of: "main/0.png")) != nil)
  }

  @Test(
    "an unknown or unbalanced placeholder in the output name exits with 64",
    arguments: [
      "{camera}.jpg", "{frame:x}.jpg", "{frame:}.jpg", "{}.jpg", "{view.jpg", "view}.jpg", "{frame:+5}.jpg",
      "{name:5}.jpg", "{index:-1}.jpg", "{index:1:2}.jpg", "a}{view}.jpg",
    ])
  func braces(name: String) async throws {
    expectFailure(try await folder.render(pattern, "-o", name), 64, naming: name)
    #expect(try folder.names == [])
  }

  @Test("braces, spaces and non-ASCII letters of a source's name are kept in the output name")
  func oddSourceNames() async throws {
    for stem in ["br{a}ce{view}", "two words", "Größe 写真", "line\nbreak"] {
      #expect(try await folder.render(pattern, "-o", "picture.png").status == 0)
      try FileManager.default.moveItem(at: folder["picture.png"], to: folder["\(stem).png"])
      #expect(try await folder.render("./\(stem).png").status == 0)
      #expect(PictureFacts(try folder.bytes(of: "\(stem)-main.jpg")) != nil)
    }
  }

  @Test("an output name of 255 bytes is accepted")
  func longName() async throws {
    let name = String(repeating: "x", count: 251) + ".jpg"
    let result = try await folder.render(pattern, "-o", name)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try folder.names == [name])
  }

  @Test("rendering several views into one file exits with 64, and nothing is written")
  func manyViews() async throws {
    let views = ["--view", "a", "--view", "b"]
    for (output, word) in [("x.png", "{view}"), ("{frame}.png", "{view}"), ("-", "standard output")] {
      let result = try await folder.run(["render", "--renderer", "reference", pattern, "-o", output] + views)
      expectFailure(result, 64, naming: word)
      #expect(try folder.names == [])
    }
  }

  @Test("rendering several frames into one file exits with 64, and nothing is written")
  func manyFrames() async throws {
    try folder.write(SourceBytes.y4m(0..<3), to: "video.y4m")
    expectFailure(
      try await folder.render("video.y4m", "-o", "{view}.png"), 64, naming: "video.y4m", "{frame}")
    expectFailure(try await folder.render("video.y4m"), 64, naming: "video.y4m", "{frame}")
    expectFailure(try await folder.render(counter, "--frames", "2", "-o", "x.png"), 64, naming: "{frame}")
    #expect(try folder.names == ["video.y4m"])
    #expect(try await folder.render("video.y4m", "--frames", "1", "-o", "x.png").status == 0)
    #expect(try folder.names == ["video.y4m", "x.png"])
  }

  @Test("standard output gets exactly the bytes that a file would contain", arguments: ["jpeg", "png"])
  func standardOutput(format: String) async throws {
    #expect(try await folder.render(pattern, "-o", "file", "--format", format).status == 0)
    let result = try await folder.render(pattern, "-o", "-", "--format", format)
    #expect(result.status == 0)
    #expect(result.output == (try folder.bytes(of: "file")))
    #expect(result.errors.isEmpty)
    #expect(try folder.names == ["file"])
  }

  @Test("several frames on standard output are concatenated JPEGs by default")
  func standardOutputOfManyFrames() async throws {
    #expect(try await folder.render(counter, "--frames", "3", "-o", "{frame}.jpg").status == 0)
    let result = try await folder.render(counter, "--frames", "3", "-o", "-")
    let files = try ["0.jpg", "1.jpg", "2.jpg"].flatMap { try folder.bytes(of: $0) }
    #expect(result.output == files)
    #expect(try folder.names == ["0.jpg", "1.jpg", "2.jpg"])
  }

  @Test(
    "null: renders without encoding, null:jpg and null:png also encode, and no file is written",
    arguments: [("null:", nil), ("null:jpg", "jpeg"), ("null:png", "png")])
  func nowhere(output: String, format: String?) async throws {
    let result = try await folder.render(
      counter, "--frames", "2", "--view", "a", "--view", "b", "-o", output, "--json")

    #expect(result.status == 0)
    let reports = try result.reports
    #expect(reports.map(\.view) == ["a", "b", "a", "b"])
    #expect(reports.map(\.frame) == [0, 0, 1, 1])
    #expect(reports.allSatisfy { $0.file == nil && $0.format == format })
    #expect(reports.allSatisfy { ($0.bytes ?? 0 > 0) == (format != nil) })
    #expect(try folder.names == [])

    expectFailure(try await folder.render(pattern, "-o", "null:gif"), 64, naming: "null:gif", "null:png")
  }

  @Test("--json prints one line per picture with its view, frame, timestamp, size and file")
  func reports() async throws {
    let result = try await folder.render(
      "pattern:counter,size=32x16,fps=4", "--frames", "2", "--view", "a", "--view", "b:size=8x", "-o",
      "{view}{frame}.jpg", "--quality", "70", "--json")

    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    let reports = try result.reports
    #expect(reports.map(\.view) == ["a", "b", "a", "b"])
    #expect(reports.map(\.frame) == [0, 0, 1, 1])
    #expect(reports.map(\.timestamp) == [0, 0, 0.25, 0.25])
    #expect(reports.map(\.width) == [32, 8, 32, 8])
    #expect(reports.map(\.height) == [16, 4, 16, 4])
    #expect(reports.map(\.file) == ["a0.jpg", "b0.jpg", "a1.jpg", "b1.jpg"])
    #expect(reports.allSatisfy { $0.format == "jpeg" && $0.quality == 70 && $0.renderer == "reference" })
    for report in reports { #expect(report.bytes == (try folder.bytes(of: report.file ?? "").count)) }
  }

  @Test("--json prints to standard error if the pictures go to standard output")
  func reportsBesidePictures() async throws {
    let plain = try await folder.render(pattern, "-o", "-")
    let result = try await folder.render(pattern, "-o", "-", "--json")
    #expect(result.status == 0)
    #expect(result.output == plain.output)
    let reports = try PictureReport.lines(of: result.errors)
    #expect(reports.map(\.bytes) == [result.output.count])
    #expect(reports.map(\.view) == ["main"])
  }

  @Test("no progress is printed if standard error is not a terminal")
  func progress() async throws {
    let result = try await folder.render(counter, "--frames", "30", "-o", "null:")
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(result.output.isEmpty)
  }

  @Test("one frame is rendered into 100 views")
  func hundredViews() async throws {
    let views = (1...100).flatMap { ["--view", "v\($0):size=\($0)x1"] }
    let result = try await folder.run(["render", pattern, "-o", "{view}.png"] + views)

    #expect(result.status == 0, "\(result.errors)")
    #expect(try folder.names.count == 100)
    for width in [1, 57, 100] {
      #expect(
        PictureFacts(try folder.bytes(of: "v\(width).png"))
          == PictureFacts(format: .png, width: width, height: 1))
    }
  }
}
