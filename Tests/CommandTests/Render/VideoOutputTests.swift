// Videos out of `render`: what is written is what a program reads that takes them.
import Foundation
import Testing

@Suite("Video output")
struct VideoOutputTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("a Y4M file rendered to Y4M keeps its frames and frame rate")
  func y4m() async throws {
    try folder.write(
      SourceBytes.y4m(0..<3, header: "YUV4MPEG2 W16 H8 F30000:1001 Ip C420jpeg XCOLORRANGE=FULL"), to: "a.y4m"
    )
    #expect(try await folder.render("a.y4m", "--matrix", "bt601", "-o", "b.y4m").status == 0)
    #expect(
      try folder.bytes(of: "b.y4m")
        == SourceBytes.y4m(0..<3, header: "YUV4MPEG2 W16 H8 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=FULL"))
  }

  @Test(
    "raw YUV and RGBA output contains only samples, in files and on standard output",
    arguments: ["yuv", "rgba"])
  func raw(format: String) async throws {
    try folder.write(
      SourceBytes.y4m(0..<2, header: "YUV4MPEG2 W16 H8 F25:1 Ip C420jpeg XCOLORRANGE=FULL"), to: "a.y4m")

    #expect(try await folder.render("a.y4m", "-o", "b.\(format)").status == 0)
    let result = try await folder.render("a.y4m", "-o", "-", "--format", format, "--json")

    #expect(try folder.bytes(of: "b.\(format)") == result.output)
    let pixel: [UInt8] = format == "yuv" ? [] : [16, 16, 16, 255]
    let first = format == "yuv" ? Array(SourceBytes.nv12(0..<1)) : (0..<128).flatMap { _ in pixel }
    #expect(result.output.count == 2 * first.count)
    #expect(Array(result.output.prefix(first.count)) == first)
    #expect(try PictureReport.lines(of: result.errors).map(\.format) == [format, format])
  }

  @Test("each view is written to its own Y4M file in its own size")
  func views() async throws {
    let result = try await folder.render(
      "pattern:smpte,size=64x48", "--frames", "2", "-o", "{view}.y4m", "--subsampling", "444",
      "--view", "a:size=8x6", "--view", "b:size=4x4,mode=stretch")

    #expect(result.status == 0, "\(result.errors)")
    #expect(
      String(decoding: try folder.bytes(of: "a.y4m"), as: UTF8.self).hasPrefix(
        "YUV4MPEG2 W8 H6 F30:1 Ip A1:1 C444 "))
    let header = "YUV4MPEG2 W4 H4 F30:1 Ip A1:1 C444 XCOLORRANGE=FULL\n"
    #expect(try folder.bytes(of: "b.y4m").count == header.utf8.count + 2 * (6 + 48))
  }

  @Test(
    "--every and --interval set the frame rate in the Y4M header",
    arguments: [
      (["--every", "2"], "F15:1"), (["--interval", "0.5"], "F2:1"), (["--interval", "0.001"], "F30:1"),
    ])
  func rates(words: [String], rate: String) async throws {
    let arguments = [
      "render", "pattern:counter,size=16x8", "--renderer", "reference", "--frames", "2", "-o", "a.y4m",
    ]
    #expect(try await folder.run(arguments + words).status == 0)
    #expect(String(decoding: try folder.bytes(of: "a.y4m").prefix(60), as: UTF8.self).contains(" \(rate) "))
  }

  @Test("a source that changes size in a raw video exits with 74, and earlier pictures are kept")
  func sizes() async throws {
    var stream: [UInt8] = []
    for size in ["16x8", "8x8"] {
      stream += try await folder.run("render", "pattern:smpte,size=\(size)", "-o", "-").output
    }
    try folder.write(stream, to: "a.mjpeg")

    let result = try await folder.render("a.mjpeg", "-o", "a.yuv")

    #expect(result.status == 74)
    #expect(result.errors.contains("a.yuv: a 8x8 picture can't follow 16x8 ones"))
    #expect(try folder.bytes(of: "a.yuv").count == 16 * 8 * 3 / 2)

    #expect(try await folder.render("a.mjpeg", "--size", "8x8", "-o", "b.yuv").status == 0)
  }

  @Test("writing a video over its own source, directly or by a link, exits with 64")
  func itself() async throws {
    let bytes = SourceBytes.y4m(0..<3)
    try folder.write(bytes, to: "a.y4m")
    try folder.link("b.y4m", to: "a.y4m")
    for name in ["a.y4m", "b.y4m"] {
      #expect(try await folder.render("a.y4m", "-o", name).status == 64)
      #expect(try folder.bytes(of: "a.y4m") == bytes)
    }
  }

  @Test(
    "invalid video output options exit with 64, and nothing is written",
    arguments: [
      ["-o", "{frame}.y4m"], ["--format", "y4m"], ["-o", "a.y4m", "--format", "rgba"],
      ["-o", "a.y4m", "--view", "a:size=8x6", "--view", "b:size=4x4"],
      ["-o", "-", "--format", "yuv", "--view", "a:size=8x6", "--view", "b:size=4x4"],
    ])
  func usage(words: [String]) async throws {
    #expect(
      try await folder.run(["render", "pattern:smpte,size=64x48", "--renderer", "reference"] + words).status
        == 64)
    #expect(try folder.names == [])
  }
}
