import Foundation
import Testing

@Suite("Writing files")
struct WriteTests {
  private let folder: TestFolder
  private let pattern = "pattern:smpte,size=16x8"

  init() throws { folder = try TestFolder() }

  @Test("an output that can't be written exits with 74, and no file is left")
  func unwritable() async throws {
    try folder.write([1], to: "file")
    try folder.makeFolder("folder.png")
    try folder.link("full.png", to: "/dev/full")

    expectFailure(try await folder.render(pattern, "-o", "missing/x.png"), 74, naming: "missing/x.png")
    expectFailure(try await folder.render(pattern, "-o", "file/x.png"), 74, naming: "file/x.png", "directory")
    expectFailure(try await folder.render(pattern, "-o", "folder.png"), 74, naming: "folder.png", "directory")
    expectFailure(try await folder.render(pattern, "-o", "full.png"), 74, naming: "full.png", "space")

    #expect(try folder.names == ["file", "folder.png", "full.png"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder["full.png"].path) == "/dev/full")
  }

  @Test("pictures written before a failed one are kept")
  func partial() async throws {
    try folder.makeFolder("2.png")
    let result = try await folder.render("pattern:counter,size=16x8", "--frames", "4", "-o", "{frame}.png")
    expectFailure(result, 74, naming: "2.png")
    #expect(try folder.names == ["0.png", "1.png", "2.png"])
    #expect(PictureFacts(try folder.bytes(of: "1.png")) != nil)
  }

  @Test("a full device on standard output exits with 74")
  func fullOutput() async throws {
    for arguments in [
      ["render", pattern, "-o", "-"], ["render", pattern, "-o", "null:", "--json"], ["devices"],
      ["devices", "--json"],
    ] {
      let result = try await folder.run(arguments, output: "/dev/full")
      expectFailure(result, 74, naming: "standard output", "space")
    }
  }

  @Test("a closed output pipe exits with 74 and a Broken pipe error")
  func closedPipe() async throws {
    let command = try await RunningCommand(
      ["render", "pattern:counter,size=64x48", "--frames", "1000000", "-o", "-"], in: folder, outputLimit: 10)
    let result = try await command.result()
    #expect(result.output.starts(with: [0xFF, 0xD8]))
    #expect(result.status == 74)
    #expect(result.errors == "glpreview: standard output: Broken pipe\n")
  }

  @Test("an existing file is replaced by the complete picture")
  func replace() async throws {
    try folder.write(Array(repeating: 1, count: 100_000), to: "x.png")
    #expect(try await folder.render(pattern, "-o", "x.png").status == 0)
    #expect(PictureFacts(try folder.bytes(of: "x.png")) != nil)
    #expect(try folder.names == ["x.png"])
  }

  @Test("a picture can replace its own source")
  func inPlace() async throws {
    #expect(try await folder.render(pattern, "-o", "x.png").status == 0)
    #expect(try await folder.render("x.png", "--size", "4x2", "-o", "x.png").status == 0)
    #expect(PictureFacts(try folder.bytes(of: "x.png")) == PictureFacts(format: .png, width: 4, height: 2))
  }

  @Test("a replaced file keeps its permissions")
  func permissions() async throws {
    try folder.write([1], to: "private.png")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: folder["private.png"].path)
    #expect(try await folder.render(pattern, "-o", "private.png").status == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder["private.png"].path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("writing to a symbolic link writes its target and keeps the link, also if the target is new")
  func links() async throws {
    try folder.makeFolder("far")
    try folder.write([1], to: "far/old.png")
    try folder.link("old.png", to: "far/old.png")
    try folder.link("new.png", to: "far/new.png")

    for name in ["old.png", "new.png"] {
      #expect(try await folder.render(pattern, "-o", name).status == 0)
      let destination = try? FileManager.default.destinationOfSymbolicLink(atPath: folder[name].path)
      #expect(destination == "far/\(name)")
      #expect((try? folder.bytes(of: "far/\(name)")).flatMap { PictureFacts($0) } != nil, "far/\(name)")
    }

    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder["far"].path).sorted() == [
        "new.png", "old.png",
      ])
  }

  @Test("two runs that write the same files leave each file complete and from one of them")
  func rivals() async throws {
    let count = 60
    func render(_ name: String) async throws -> CommandResult {
      try await folder.render("pattern:\(name),size=16x8", "--frames", "\(count)", "-o", "{frame}.png")
    }

    async let first = render("smpte")
    async let second = render("gradient")
    let statuses = try await [first.status, second.status]

    #expect(statuses == [0, 0])
    let names = try folder.names
    #expect(names.count == count)
    let pictures = try Set(names.map { try folder.bytes(of: $0) })
    let whole = try await [
      folder.render("pattern:smpte,size=16x8", "-o", "-", "--format", "png").output,
      folder.render("pattern:gradient,size=16x8", "-o", "-", "--format", "png").output,
    ]
    #expect(pictures.isSubset(of: whole))
  }
}
