import Testing

@Suite("Picture encoding options")
struct RenderEncodingTests {
  private let folder: TestFolder
  private let pattern = "pattern:zoneplate,size=64x48"

  init() throws { folder = try TestFolder() }

  private func size(_ options: String...) async throws -> Int {
    let result = try await folder.run(["render", "--renderer", "reference", pattern, "-o", "-"] + options)
    #expect(result.status == 0)
    return result.output.count
  }

  @Test("a higher --quality gives a larger file, and the default is 80")
  func quality() async throws {
    let sizes = [
      try await size("--quality", "1"), try await size("--quality", "40"), try await size("--quality", "80"),
      try await size("--quality", "100"),
    ]
    #expect(sizes == sizes.sorted())
    #expect(Set(sizes).count == 4)
    #expect(try await size() == sizes[2])
  }

  @Test(
    "--subsampling sets a JPEG's chroma subsampling, and the default is 4:2:0",
    arguments: [
      ([], "2x2"), (["--subsampling", "420"], "2x2"), (["--subsampling", "422"], "2x1"),
      (["--subsampling", "444"], "1x1"),
    ])
  func subsampling(options: [String], chroma: String) async throws {
    let result = try await folder.run(["render", pattern, "-o", "-"] + options)
    #expect(PictureFacts(result.output) == PictureFacts(format: .jpeg, width: 64, height: 48, chroma: chroma))
  }

  @Test(
    "--max-bytes lowers the quality to 30 at least, and then reduces the picture's size",
    arguments: [(2000, true), (700, false)])
  func budget(bytes: Int, keepsSize: Bool) async throws {
    let result = try await folder.render(
      pattern, "-o", "x.jpg", "--quality", "90", "--max-bytes", "\(bytes)", "--json")
    #expect(result.status == 0)
    let report = try #require(try result.reports.first)
    let file = try folder.bytes(of: "x.jpg")
    #expect(file.count <= bytes)
    #expect(PictureFacts(file)?.width == report.width)
    #expect((report.width == 64 && report.height == 48) == keepsSize)
    #expect(keepsSize ? (30..<90).contains(report.quality ?? 0) : report.quality == 50)
  }

  @Test("--max-bytes above the file's size does not change that size")
  func wideBudget() async throws {
    #expect(try await size("--max-bytes", "1000000") == size())
  }

  @Test(
    "--max-bytes that can't be met exits with 65, names the picture and keeps the old file",
    arguments: ["jpg", "png"])
  func impossibleBudget(ending: String) async throws {
    try folder.write([1, 2, 3], to: "x.\(ending)")
    let result = try await folder.render(pattern, "-o", "x.\(ending)", "--max-bytes", "100")
    expectFailure(result, 65, naming: "100", "64x48", "x.\(ending)")
    #expect(try folder.names == ["x.\(ending)"])
    #expect(try folder.bytes(of: "x.\(ending)") == [1, 2, 3])
  }

  @Test("--exif adds EXIF data to JPEGs of live sources and scenes, but not of files")
  func exif() async throws {
    func hasEXIF(_ source: [String], _ options: String...) async throws -> Bool {
      let result = try await folder.run(["render"] + source + options + ["-o", "-"])
      #expect(result.status == 0, "\(result.errors)")
      // Turned by the orientation of its EXIF, which the output must not have again.
      #expect(source.contains("--scene") || PictureFacts(result.output)?.width == 48, "\(source)")
      return result.output.prefix(200).contains(sequence: Array("Exif\0\0".utf8))
    }
    let jpeg = try await folder.run("render", pattern, "-o", "-").output
    try folder.write(SourceBytes.tagged(jpeg, orientation: 6), to: "turned.jpg")
    let live = ["exec:cat turned.jpg", "--renderer", "reference"]

    #expect(try await !hasEXIF(live))
    #expect(try await hasEXIF(live, "--exif"))
    #expect(try await !hasEXIF(["turned.jpg"], "--exif"), "a file's own time is not known")
    #expect(try await !hasEXIF(["--scene", "grid:size=64x48", "turned.jpg"]))
    #expect(try await hasEXIF(["--scene", "grid:size=64x48", "turned.jpg"], "--exif"))
  }
}

extension [UInt8].SubSequence {
  fileprivate func contains(sequence: [UInt8]) -> Bool {
    indices.contains { self[$0...].starts(with: sequence) }
  }
}
