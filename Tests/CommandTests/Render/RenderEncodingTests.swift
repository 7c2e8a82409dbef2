import Testing

@Suite("How pictures are encoded")
struct RenderEncodingTests {
  private let folder: TestFolder
  private let pattern = "pattern:zoneplate,size=64x48"

  init() throws { folder = try TestFolder() }

  private func size(_ options: String...) async throws -> Int {
    let result = try await folder.run(["render", "--renderer", "reference", pattern, "-o", "-"] + options)
    #expect(result.status == 0)
    return result.output.count
  }

  @Test("a higher quality takes more bytes, and 80 is the default")
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
    "--subsampling is JPEG's chroma, 4:2:0 unless told",
    arguments: [
      ([], "2x2"), (["--subsampling", "420"], "2x2"), (["--subsampling", "422"], "2x1"),
      (["--subsampling", "444"], "1x1"),
    ])
  func subsampling(options: [String], chroma: String) async throws {
    let result = try await folder.run(["render", pattern, "-o", "-"] + options)
    #expect(PictureFacts(result.output) == PictureFacts(format: .jpeg, width: 64, height: 48, chroma: chroma))
  }

  @Test("--max-bytes takes the highest quality that fits")
  func budget() async throws {
    let result = try await folder.render(
      pattern, "-o", "x.jpg", "--quality", "90", "--max-bytes", "2000", "--json")
    #expect(result.status == 0)
    let quality = try #require(try result.reports.first?.quality)
    #expect(try folder.bytes(of: "x.jpg").count <= 2000)
    #expect((1..<90).contains(quality))
    #expect(try await size("--quality", "\(quality)") <= 2000)
    #expect(try await size("--quality", "\(quality + 1)") > 2000)
  }

  @Test("--max-bytes that is no limit changes nothing")
  func wideBudget() async throws {
    #expect(try await size("--max-bytes", "1000000") == size())
  }

  @Test(
    "a budget that no quality fits is an error that says which picture, and how far it is off",
    arguments: ["jpg", "png"])
  func impossibleBudget(ending: String) async throws {
    try folder.write([1, 2, 3], to: "x.\(ending)")
    let result = try await folder.render(pattern, "-o", "x.\(ending)", "--max-bytes", "100")
    expectFailure(result, 65, naming: "100", "64x48", "x.\(ending)")
    #expect(try folder.names == ["x.\(ending)"])
    #expect(try folder.bytes(of: "x.\(ending)") == [1, 2, 3])
  }
}
