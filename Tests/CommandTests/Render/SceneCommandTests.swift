// Several sources in one picture, as users of the command ask for it.
import Foundation
import GLPreview
import Testing

@testable import glpreview_cli

@Suite("Scenes from the command line")
struct SceneCommandTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    for (name, code) in [("light", 200), ("dark", 40)] {
      try folder.write(Self.y4m(UInt8(code)), to: "\(name).y4m")
    }
  }

  /// A frame of 16x16, all of one grey, full range.
  private static func y4m(_ code: UInt8) -> [UInt8] {
    Array("YUV4MPEG2 W16 H16 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n".utf8)
      + [UInt8](repeating: code, count: 256) + [UInt8](repeating: 128, count: 128)
  }

  private func scene(_ arguments: String...) async throws -> CommandResult {
    try await folder.run(["render", "--gpu", "software", "--timeout", "3600", "--scene"] + arguments)
  }

  /// R of the pixel in the middle of each half of a picture of 64x32.
  private func halves(_ name: String) async throws -> [UInt8] {
    let source = try await SourceLocator(folder[name].path).open()
    let frame = try #require(try await source.nextFrame())
    await source.close()
    #expect(frame.format.uprightSize == Size(width: 64, height: 32))
    let bytesPerPixel = frame.format.pixelFormat == .rgba ? 4 : 3
    let row = try #require(frame.planes.first).bytesPerRow * 16
    return [16, 48].map { frame.bytes[row + $0 * bytesPerPixel] }
  }

  @Test("a grid places two sources side by side in the given order")
  func sideBySide() async throws {
    let result = try await scene(
      "grid:size=64x32,aspect=1:1", "dark.y4m", "light.y4m", "-o", "call.png", "--json")
    #expect(result.status == 0, "\(result.errors)")
    let report = try #require(try result.reports.first)
    #expect(report.view == "grid")
    #expect(report.file == "call.png")
    #expect(try await halves("call.png") == [40, 200])
  }

  @Test("the default output name of a scene contains the layout's name")
  func defaultName() async throws {
    #expect(try await scene("inset:size=64x32", "dark.y4m", "light.y4m").status == 0)
    #expect(try folder.names.contains("scene-inset.jpg"))
  }

  @Test("--tile, --off and --avatar each apply to the source that they name")
  func tiles() async throws {
    let result = try await scene(
      "grid:size=64x32,aspect=1:1", "left=dark.y4m", "light.y4m", "--tile", "left:opacity=0", "--off",
      "light",
      "--avatar", "light=dark.y4m", "--speaking", "left", "-o", "call.png")

    #expect(result.status == 0, "\(result.errors)")
    let codes = try await halves("call.png")
    #expect(codes[0] == 0)
    // The avatar's circle, in place of the light grey.
    #expect(codes[1] == 40)
  }

  @Test("a mask in a scene applies to the source that it names, and exits with 64 without a name")
  func masks() async throws {
    let mask = "light=16x16+0+0:fill=#000000"
    let result = try await scene(
      "grid:size=64x32,aspect=1:1", "dark.y4m", "light.y4m", "--mask", mask, "-o", "call.png")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try await halves("call.png") == [40, 0])
    expectFailure(
      try await scene("grid", "dark.y4m", "--mask", "16x16+0+0", "-o", "x.png"), 64, naming: "--mask", "NAME="
    )
  }

  @Test("a single picture of a scene with a missing or damaged file fails and is not written")
  func missingFile() async throws {
    expectFailure(
      try await scene("grid", "dark.y4m", "nothing.png", "-o", "x.png"), 66, naming: "nothing.png")
    try folder.write(Array("YUV4MPEG2 W16 H16 F25:1\nFRAME\n".utf8), to: "cut.y4m")
    expectFailure(try await scene("grid", "dark.y4m", "cut.y4m", "-o", "x.png"), 65, naming: "cut.y4m")
    #expect(try !folder.names.contains("x.png"))
  }

  @Test("a scene is rendered without an unavailable camera, and exits with 66 if no source is left")
  func lostCamera() async throws {
    let result = try await scene("grid:size=64x32", "dark.y4m", "/dev/video999", "-o", "call.png")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("/dev/video999"))
    #expect(try folder.names.contains("call.png"))
    expectFailure(try await scene("grid", "/dev/video999", "-o", "x.png"), 66, naming: "/dev/video999")
    #expect(try !folder.names.contains("x.png"))
  }

  @Test("a scene with --frames 3 writes pictures 0 to 2 despite a missing file")
  func running() async throws {
    let result = try await scene(
      "grid:size=64x32", "pattern:counter,size=16x16", "nothing.png", "--frames", "3", "-o",
      "{view}-{frame}.png")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("nothing.png"))
    let names = try folder.names.filter { $0.hasPrefix("grid-") }
    #expect(names == ["grid-0.png", "grid-1.png", "grid-2.png"])
  }

  @Test("a scene of still pictures ends after one picture that contains all of them")
  func ends() async throws {
    let result = try await scene(
      "grid:size=64x32,aspect=1:1", "dark.y4m", "light.y4m", "--frames", "9", "-o", "{frame}.png")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try folder.names.filter { $0.hasSuffix(".png") } == ["0.png"])
    #expect(try await halves("0.png") == [40, 200])
  }

  @Test(
    "invalid scene options exit with 64 before a source is opened",
    arguments: [
      (["--scene", "row"], "grid"), (["--scene", "free"], "rectangle"),
      (["--scene", "grid", "--crop", "1x1+0+0"], "--tile"),
      (["--scene", "grid", "--size", "9x9"], "LAYOUT:size"), (["--scene", "grid", "--view", "a"], "--view"),
      (["--scene", "grid", "--tile", "bo:mode=fit"], "'bo'"),
      (["--scene", "grid", "--tile", "a:mode=no"], "mode"),
      (["--scene", "grid", "--off", "bo"], "'bo'"), (["--scene", "grid", "--speaking", "bo"], "'bo'"),
      (["--scene", "grid", "--avatar", "a"], "NAME="), (["--scene", "grid:background=blur:bo"], "'bo'"),
      (["--scene", "grid", "--every", "2"], "--every"),
      (["--scene", "grid", "--renderer", "reference"], "--renderer"),
      (["--scene", "grid", "--frames", "2"], "{frame}"), (["--scene", "grid", "a=dark.y4m"], "'a'"),
      (["--off", "a"], "--scene"), (["--labels", "names"], "--scene"),
    ])
  func refused(arguments: [String], word: String) async throws {
    expectFailure(
      try await folder.run(["render", "a=nothing.png", "-o", "x.png"] + arguments), 64, naming: word)
  }

  @Test("scene sources are named as given or after their files, and duplicates get a number")
  func names() throws {
    let words = [
      "photos/ann.jpg", "Bo=/dev/video0", "/dev/video0,size=640x480", "other/ann.png",
      "pattern:smpte,size=4x4", "./c=d.jpg",
    ]
    let sources = try NamedSource.all(words)
    #expect(sources.map(\.name) == ["ann", "Bo", "video0", "ann-2", "smpte", "c=d"])
    #expect(sources[1].text == "/dev/video0")
    #expect(sources[5].text == "./c=d.jpg")
  }
}
