import Foundation
import Testing

@Suite("Bad input")
struct BadInputTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("a missing file or a folder as the source exits with 66")
  func notThere() async throws {
    try folder.makeFolder("folder.jpg")
    try folder.write([], to: "file")
    expectFailure(try await folder.run("render", "missing.jpg"), 66, naming: "missing.jpg")
    expectFailure(try await folder.run("render", "missing/a.jpg"), 66, naming: "missing/a.jpg")
    expectFailure(try await folder.run("render", "file/a.jpg"), 66, naming: "file/a.jpg")
    expectFailure(try await folder.run("render", "folder.jpg"), 66, naming: "folder.jpg", "directory")
    #expect(try folder.names == ["file", "folder.jpg"])
  }

  /// A file's name, its bytes, and a word of what is wrong with it.
  private static let liars: [(name: String, bytes: [UInt8], word: String)] = [
    ("empty.jpg", [], "empty"), ("empty.y4m", [], "empty"),
    ("noise.png", (0..<4000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 / 7) }, "not a"),
    ("zeros.jpg", Array(repeating: 0, count: 4000), "not a"),
    ("text.mjpeg", Array("hello".utf8), "not a"),
    ("start.jpg", [0xFF, 0xD8, 0xFF], "cut short"),
    ("huge.jpg", SourceBytes.lyingJPEG(width: 65500, height: 65500), "65500x65500"),
    ("hollow.jpg", SourceBytes.lyingJPEG(width: 64, height: 64), "JPEG"),
    ("flat.jpg", SourceBytes.lyingJPEG(width: 64, height: 0), "JPEG"),
    ("huge.png", SourceBytes.lyingPNG(width: 2_000_000_000, height: 2_000_000_000), "2000000000"),
    ("large.png", SourceBytes.lyingPNG(width: 60000, height: 60000), "60000x60000"),
    ("hollow.png", SourceBytes.lyingPNG(width: 9000, height: 9000), "PNG"),
    ("flat.png", SourceBytes.lyingPNG(width: 9, height: 0), "PNG"),
    ("signature.png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "PNG"),
    ("huge.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W99999999 H99999999 F25:1"), "99999999x99999999"),
    ("hollow.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W10000 H9000 F25:1 C444"), "cut short"),
    ("overflow.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W9223372036854775807 H2 F25:1"), "W"),
    ("negative.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W-16 H8 F25:1"), "W"),
    ("zero.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W0 H8 F25:1"), "W"),
    ("narrow.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 H8 F25:1"), "W"),
    ("deep.y4m", SourceBytes.y4m(0..<1, header: "YUV4MPEG2 W16 H8 F25:1 C420p11"), "420p11"),
    ("endless.y4m", Array("YUV4MPEG2 W16 H8 ".utf8) + Array(repeating: 0x58, count: 9000), "header"),
    ("frameless.y4m", SourceBytes.y4m(0..<0), "no frames"),
    ("wrong.y4m", SourceBytes.y4m(0..<0) + Array("PICTURE\n".utf8), "FRAME"),
  ]

  @Test(
    "a file that is unknown, truncated or has a false header exits with 65 and a reason",
    arguments: liars.indices)
  func lies(index: Int) async throws {
    let (name, bytes, word) = Self.liars[index]
    try folder.write(bytes, to: name)
    expectFailure(try await folder.render(name, "-o", "x.png"), 65, naming: name, word)
    #expect(try folder.names == [name])
  }

  @Test("unknown, truncated or false data on standard input exits with 65", arguments: liars.indices)
  func pipedLies(index: Int) async throws {
    let (name, bytes, _) = Self.liars[index]
    guard name != "text.mjpeg" else { return }
    expectFailure(try await folder.render("-", "-o", "x.png", input: bytes), 65)
    #expect(try folder.names == [])
  }

  @Test("empty standard input exits with 65")
  func nothing() async throws {
    expectFailure(try await folder.render("-", "-o", "x.png"), 65, naming: "empty")
  }

  @Test("a truncated JPEG or PNG exits with 65, and nothing is written", arguments: ["jpg", "png"])
  func cuts(ending: String) async throws {
    let format = ending == "jpg" ? "jpeg" : "png"
    let whole = try await folder.render("pattern:smpte,size=32x16", "-o", "-", "--format", format).output
    // What follows the samples may be missing: a JPEG's end marker, a PNG's last twelve bytes.
    let end = ending == "jpg" ? 3 : 13
    for length in [1, 7, 20, whole.count / 2, whole.count - 20, whole.count - end] {
      try folder.write(Array(whole.prefix(length)), to: "cut.\(ending)")
      expectFailure(try await folder.render("cut.\(ending)", "-o", "x.png"), 65, naming: "cut.\(ending)")
      #expect(try folder.names == ["cut.\(ending)"], "\(length) of \(whole.count) bytes")
    }
  }

  @Test("bytes after the end of a JPEG or PNG are ignored", arguments: ["jpeg", "png"])
  func trailer(format: String) async throws {
    let picture = try await folder.render("pattern:smpte,size=32x16", "-o", "-", "--format", format).output
    try folder.write(picture + [1, 2, 3, 0xFF], to: "picture")
    #expect(try await folder.render("picture", "-o", "x.png").status == 0)
  }

  @Test("a PNG with a wrong checksum exits with 65")
  func checksum() async throws {
    var picture = try await folder.render("pattern:smpte,size=32x16", "-o", "-", "--format", "png").output
    picture[picture.count - 20] ^= 0xFF
    try folder.write(picture, to: "wrong.png")
    expectFailure(try await folder.render("wrong.png", "-o", "x.png"), 65, naming: "wrong.png")
  }

  @Test("a raw file with an incomplete frame exits with 65 before anything is written")
  func rawRemainder() async throws {
    try folder.write(SourceBytes.nv12(0..<2) + [0], to: "video.nv12")
    let result = try await folder.render(
      "video.nv12", "--input-format", "nv12", "--input-size", "16x8", "-o", "{frame}.png")
    expectFailure(result, 65, naming: "video.nv12", "385", "192")
    #expect(try folder.names == ["video.nv12"])
  }

  @Test("--max-megapixels limits the size of sources and of output pictures")
  func limit() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "video.y4m")

    expectFailure(
      try await folder.render("video.y4m", "--max-megapixels", "0.0001", "-o", "x.png"), 65,
      naming: "video.y4m",
      "16x8", "--max-megapixels")
    #expect(try await folder.render("video.y4m", "--max-megapixels", "0.000128", "-o", "x.png").status == 0)
    expectFailure(
      try await folder.render("video.y4m", "--size", "40x20", "--max-megapixels", "0.0005", "-o", "y.png"),
      64,
      naming: "40x20", "--max-megapixels")
  }
}
