import Foundation
import Testing

@Suite("Input sources")
struct RenderSourceTests {
  private let folder: TestFolder
  private let raw = ["--input-format", "nv12", "--input-size", "16x8"]

  init() throws { folder = try TestFolder() }

  /// The picture of a video that has but this frame.
  private func picture(of frame: Int) async throws -> [UInt8] {
    let result = try await folder.render(
      "-", "-o", "-", "--format", "png", input: SourceBytes.y4m(frame..<frame + 1))
    #expect(PictureFacts(result.output) == PictureFacts(format: .png, width: 16, height: 8))
    return result.output
  }

  /// Finds the pictures of these frames, called by these numbers, and no other PNG.
  private func expectPictures(
    _ frames: [(number: Int, frame: Int)], sourceLocation: SourceLocation = #_sourceLocation
  )
    async throws
  {
    let names = try folder.names.filter { $0.hasSuffix(".png") }
    #expect(names == frames.map { "\($0.number).png" }.sorted(), sourceLocation: sourceLocation)
    for (number, frame) in frames where names.contains("\(number).png") {
      #expect(
        try await folder.bytes(of: "\(number).png") == picture(of: frame), "\(number).png",
        sourceLocation: sourceLocation)
    }
  }

  private func expectPictures(_ frames: [Int], sourceLocation: SourceLocation = #_sourceLocation) async throws
  {
    try await expectPictures(frames.map { ($0, $0) }, sourceLocation: sourceLocation)
  }

  @Test("every frame of a Y4M file is rendered, numbered from 0")
  func y4m() async throws {
    try folder.write(SourceBytes.y4m(0..<5), to: "video.y4m")
    let result = try await folder.render("video.y4m", "-o", "{frame}.png", "--json")
    #expect(result.status == 0)
    #expect(try result.reports.map(\.timestamp) == [0, 0.04, 0.08, 0.12, 0.16])
    try await expectPictures([0, 1, 2, 3, 4])
  }

  @Test("every frame of a raw video file is rendered, numbered from 0")
  func rawVideo() async throws {
    try folder.write(SourceBytes.nv12(0..<3), to: "video.nv12")
    let result = try await folder.run(["render", "video.nv12", "-o", "{frame}.png"] + raw)
    #expect(result.status == 0)
    try await expectPictures([0, 1, 2])
  }

  @Test("--every skips frames, and output names have the source's frame numbers")
  func every() async throws {
    try folder.write(SourceBytes.y4m(0..<8), to: "video.y4m")
    #expect(try await folder.render("video.y4m", "--every", "3", "-o", "{frame}.png").status == 0)
    try await expectPictures([0, 3, 6])
  }

  @Test("--frames counts rendered frames, not those that --every skips")
  func frames() async throws {
    try folder.write(SourceBytes.nv12(0..<8), to: "video.nv12")
    let options = ["--every", "3", "--frames", "2", "-o", "{frame}.png", "--renderer", "reference"]
    #expect(try await folder.run(["render", "video.nv12"] + raw + options).status == 0)
    try await expectPictures([0, 3])
  }

  @Test("--frames above the source's length renders all frames")
  func moreFrames() async throws {
    try folder.write(SourceBytes.y4m(0..<2), to: "video.y4m")
    #expect(try await folder.render("video.y4m", "--frames", "99", "-o", "{frame}.png").status == 0)
    try await expectPictures([0, 1])
  }

  @Test("--loop repeats a file, and frame numbers continue")
  func loop() async throws {
    try folder.write(SourceBytes.y4m(0..<3), to: "video.y4m")
    #expect(
      try await folder.render("video.y4m", "--loop", "3", "--every", "2", "-o", "{frame}.png").status == 0)
    try await expectPictures([(0, 0), (2, 2), (4, 1), (6, 0), (8, 2)])
  }

  @Test("--loop repeats a still picture")
  func loopStill() async throws {
    try folder.write(try await picture(of: 4), to: "still.image")
    #expect(try await folder.render("still.image", "--loop", "2", "-o", "{frame}.png").status == 0)
    try await expectPictures([(0, 4), (1, 4)])
  }

  @Test("--loop with standard input exits with 64, and nothing is written")
  func loopStream() async throws {
    let result = try await folder.render(
      "-", "--loop", "2", "-o", "{frame}.png", input: SourceBytes.y4m(0..<3))
    expectFailure(result, 64, naming: "live")
    #expect(try folder.names == [])
  }

  @Test("a crop is scaled with the picture if the source changes its size")
  func changingSize() async throws {
    var stream: [UInt8] = []
    for size in ["640x480", "320x240", "1280x960"] {
      stream += try await folder.run("render", "pattern:gradient,size=\(size)", "-o", "-").output
    }
    try folder.write(stream, to: "a.mjpeg")
    let crop = ["--crop", "320x240+160+120", "-o", "null:", "--json"]

    let sizes = try await folder.run(["render", "a.mjpeg", "--renderer", "reference"] + crop).reports

    #expect(sizes.map(\.width) == [320, 160, 640])
    #expect(sizes.map(\.height) == [240, 120, 480])
  }

  @Test("standard input is recognised as Y4M by its first bytes")
  func y4mStream() async throws {
    #expect(
      try await folder.render("-", "--lossless", "-o", "{frame}.png", input: SourceBytes.y4m(0..<3)).status
        == 0)
    try await expectPictures([0, 1, 2])
  }

  @Test("standard input is recognised as PNG by its first bytes")
  func pngStream() async throws {
    let png = try await picture(of: 2)
    #expect(try await folder.render("-", "-o", "{frame}.png", input: png).status == 0)
    try await expectPictures([(0, 2)])
  }

  @Test("standard input is recognised as one or several JPEGs by its first bytes")
  func jpegStream() async throws {
    let jpeg = try await folder.render("-", "-o", "-", "--quality", "100", input: SourceBytes.y4m(3..<4))
      .output
    #expect(
      try await folder.render("-", "--lossless", "-o", "{frame}.png", input: jpeg + jpeg + jpeg).status == 0)
    #expect(try folder.names == ["0.png", "1.png", "2.png"])
    #expect(try await folder.render("-", "-o", "single.png", input: jpeg).status == 0)
    #expect(try folder.bytes(of: "2.png") == folder.bytes(of: "single.png"))
  }

  @Test("standard input is read as raw frames with --input-format and --input-size")
  func rawStream() async throws {
    let options = ["--lossless", "-o", "{frame}.png", "--renderer", "reference"]
    let result = try await folder.run(["render", "-"] + raw + options, input: SourceBytes.nv12(0..<3))
    #expect(result.status == 0)
    try await expectPictures([0, 1, 2])
  }

  @Test("a file of concatenated JPEGs is read as a video")
  func mjpeg() async throws {
    let jpeg = try await folder.render("-", "-o", "-", input: SourceBytes.y4m(0..<1)).output
    for name in ["video.mjpeg", "video.mjpg"] {
      try folder.write(jpeg + jpeg, to: name)
      let result = try await folder.render(name, "-o", "null:", "--json")
      #expect(try result.reports.map(\.frame) == [0, 1])
    }
  }

  @Test("a FIFO can be a source")
  func fifo() async throws {
    try folder.makeFIFO("pipe")
    DispatchQueue(label: "writer").async { [folder] in
      // Opening waits for who reads.
      guard let file = try? FileHandle(forWritingTo: folder["pipe"]) else { return }
      try? file.write(contentsOf: Data(SourceBytes.y4m(0..<2)))
      try? file.close()
    }

    #expect(try await folder.render("pipe", "--lossless", "-o", "{frame}.png").status == 0)
    try await expectPictures([0, 1])
  }

  @Test("a frame on standard input is rendered before the next one arrives")
  func liveStream() async throws {
    let command = try await RunningCommand(
      ["render", "-", "--renderer", "reference", "-o", "{frame}.png", "--json"], in: folder)

    command.write(SourceBytes.y4m(0..<1))
    let line = await command.nextLine()
    #expect(line?.contains("\"0.png\"") == true)
    #expect(try folder.names == ["0.png"])

    command.write(Array("FRAME\n".utf8) + SourceBytes.nv12(1..<2))
    command.closeInput()
    #expect(try await command.result().status == 0)
    try await expectPictures([0, 1])
  }

  @Test("a run ends after --frames frames although standard input stays open")
  func limitedStream() async throws {
    let command = try await RunningCommand(
      ["render", "-", "--renderer", "reference", "-o", "{frame}.png", "--frames", "2"], in: folder)
    command.write(SourceBytes.y4m(0..<2))
    #expect(try await command.result().status == 0)
    command.closeInput()
    try await expectPictures([0, 1])
  }

  @Test("a truncated Y4M file exits with 65, and its complete frames are rendered")
  func cutY4M() async throws {
    try folder.write(SourceBytes.y4m(0..<3).dropLast(5), to: "cut.y4m")
    let result = try await folder.render("cut.y4m", "-o", "{frame}.png")
    expectFailure(result, 65, naming: "cut.y4m", "frame 2", "cut short")
    try await expectPictures([0, 1])
  }

  @Test("a file of JPEGs with a truncated last one exits with 65, and the others are rendered")
  func cutMJPEG() async throws {
    let jpeg = try await folder.render("-", "-o", "-", input: SourceBytes.y4m(0..<1)).output
    try folder.write(jpeg + jpeg + jpeg.dropLast(40), to: "cut.mjpeg")
    let result = try await folder.render("cut.mjpeg", "-o", "{frame}.png")
    expectFailure(result, 65, naming: "cut.mjpeg", "frame 2", "cut short")
    #expect(try folder.names == ["0.png", "1.png", "cut.mjpeg"])
  }

  @Test("truncated raw frames on standard input exit with 65, and the complete frames are rendered")
  func cutRaw() async throws {
    let options = ["--lossless", "-o", "{frame}.png", "--renderer", "reference"]
    let result = try await folder.run(
      ["render", "-"] + raw + options, input: SourceBytes.nv12(0..<3).dropLast(1))
    expectFailure(result, 65, naming: "frame 2", "cut short")
    try await expectPictures([0, 1])
  }

  @Test(
    "each of the eight EXIF orientations is applied to a picture before it is cropped",
    arguments: [
      (1, []), (2, ["--mirror", "horizontal"]), (3, ["--rotate", "180"]), (4, ["--mirror", "vertical"]),
      (5, ["--rotate", "90", "--mirror", "horizontal"]), (6, ["--rotate", "90"]),
      (7, ["--rotate", "270", "--mirror", "horizontal"]), (8, ["--rotate", "270"]),
    ])
  func exif(orientation: Int, turn: [String]) async throws {
    let jpeg = try await folder.render("pattern:gradient,size=24x16", "--subsampling", "444", "-o", "-")
      .output
    try folder.write(jpeg, to: "stored.jpg")
    try folder.write(SourceBytes.tagged(jpeg, orientation: UInt8(orientation)), to: "tagged.jpg")

    #expect(try await folder.run(["render", "stored.jpg", "-o", "turned.png"] + turn).status == 0)
    #expect(try await folder.run(["render", "tagged.jpg", "-o", "upright.png"]).status == 0)

    #expect(try folder.bytes(of: "upright.png") == folder.bytes(of: "turned.png"))

    // Crops are in pixels of what is seen.
    let crop = ["--crop", "5x6+11+9"]
    #expect(try await folder.run(["render", "turned.png", "-o", "turned-crop.png"] + crop).status == 0)
    #expect(try await folder.run(["render", "tagged.jpg", "-o", "upright-crop.png"] + crop).status == 0)
    #expect(try folder.bytes(of: "upright-crop.png") == folder.bytes(of: "turned-crop.png"))
  }

  @Test("a picture of one pixel can be copied, rotated and enlarged", arguments: ["jpg", "png"])
  func onePixel(ending: String) async throws {
    #expect(try await folder.run("render", "pattern:smpte,size=1x1", "-o", "one.\(ending)").status == 0)
    let result = try await folder.run(
      "render", "one.\(ending)", "--view", "same", "--view", "turned:rotate=90,mirror=both", "--view",
      "large:size=3x5,filter=lanczos,linear=true", "-o", "{view}.png", "--json")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.reports.map(\.width) == [1, 1, 3])
  }

  @Test("a picture of 20000 pixels in width, wider than GPU textures, is cropped and shrunk")
  func wide() async throws {
    let views = ["--view", "end:crop=40x4+19960+2", "--view", "all:size=100x10"]
    let source = ["render", "pattern:gradient,size=20000x10", "-o", "{view}.png"]

    let result = try await folder.run(source + views)

    #expect(result.status == 0, "\(result.errors)")
    #expect(
      PictureFacts(try folder.bytes(of: "all.png")) == PictureFacts(format: .png, width: 100, height: 10))

    let byGPU = try folder.bytes(of: "end.png")
    #expect(try await folder.run(source + views + ["--renderer", "reference"]).status == 0)
    #expect(try folder.bytes(of: "end.png") == byGPU)
  }

  @Test("--range full overrides the source's limited range")
  func color() async throws {
    func picture(_ options: String...) async throws -> [UInt8] {
      let source = ["render", "-", "--renderer", "reference", "-o", "-", "--format", "png"]
      return try await folder.run(source + options, input: SourceBytes.y4m(3..<4)).output
    }
    #expect(try await picture() == picture("--range", "limited", "--matrix", "bt601"))
    #expect(try await picture() != picture("--range", "full"))
  }
}
