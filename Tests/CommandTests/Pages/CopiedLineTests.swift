// Runs the commands in README and docs/, in a folder with the files that they name, and checks the configurations. Tests have no
// camera and no other machine: a command that names one must fail for that reason alone.
import Foundation
import TestSupport
import Testing

@Suite("Commands and configurations in the documentation", .timeLimit(.minutes(15)))
struct CopiedLineTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("each documented `glpreview render` line exits with 0, or with 65, 66 or 69 if it needs a camera")
  func render() async throws {
    let (small, large) = (try TestFolder(), try TestFolder())
    try await CopiedFiles.make(in: small, width: 320)
    try await CopiedFiles.make(in: large, width: 1280)
    let blocks = try CopiedLine.blocks().map {
      try CopiedLine.all(in: $0).filter { $0.runs("glpreview render") }
    }
    try #require(blocks.joined().count > 30)
    // Lines of one block may need what those before them have made.
    for block in blocks where !block.isEmpty {
      let files = block.contains(where: \.needsLargeFiles) ? large : small
      let copies = try TestFolder()
      for name in try files.names { try FileManager.default.copyItem(at: files[name], to: copies[name]) }
      for line in block where line.isComplete {
        let result = try await line.run(in: copies)
        let expected: Set<Int32> = line.needsCamera ? [0, 65, 66, 69] : [0]
        #expect(expected.contains(result.status), "\(line): \(result.status) \(result.errors)")
      }
    }
  }

  @Test("each documented `glpreview serve` line starts a service or passes --check-config")
  func serve() async throws {
    let lines = try CopiedLine.all().filter { $0.runs("glpreview serve") }
    try #require(lines.count > 6)
    try folder.write(Array("cameras: {door: {source: pattern}}".utf8), to: "glpreview.yaml")
    try folder.write(Array("cameras: {door: {source: pattern}}".utf8), to: "cameras.yaml")
    for line in lines {
      let words = line.text.replacing(#/ +#.*/#, with: "").replacing("/etc/", with: "").split(separator: " ")
      let arguments = words.dropFirst(2).map(String.init)
      if arguments.contains("--check-config") {
        let result = try await folder.run(["serve"] + arguments)
        #expect(result.status == 0, "\(line): \(result.errors)")
      } else {
        await #expect(throws: Never.self, "\(line)") { _ = try await ServedCommand(arguments, in: folder) }
      }
    }
  }

  @Test("each documented configuration passes --check-config")
  func configurations() async throws {
    let blocks = try CopiedLine.blocks().filter(\.isConfiguration)
    try #require(blocks.count > 8)
    for name in [
      "cluster.token", "nats.token", "read.token", "control.token", "glpreview-mail.key", "s3.secret",
    ]
      + ["anna", "frigate", "mqtt", "web"].map({ "\($0).password" })
    {
      try folder.write(Array("a-secret-that-nobody-knows-\(name)".utf8), to: name)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder[name].path)
    }
    for block in blocks {
      var text = block.lines.joined(separator: "\n").replacing("/var/lib", with: folder.url.path)
      if !text.contains(#/(?m)^cameras:/#) { text += "\ncameras: {door: {source: pattern}}" }
      try folder.write(Array(text.utf8), to: "copied.yaml")
      let result = try await folder.run("serve", "--config", "copied.yaml", "--check-config")
      #expect(result.status == 0, "\(block.place): \(result.errors)")
    }
  }

  @Test(
    "each documented curl line gets a 2xx response, or 409 for camera controls",
    .enabled(if: OtherProgram("curl") != nil, "needs curl"))
  func curl() async throws {
    let lines = try CopiedLine.all().filter { $0.text.hasPrefix("curl ") && !$0.text.contains("glpreview") }
    try #require(lines.count > 15)
    let configuration = """
      access: {link-keys: {mail: {secret: 0123456789abcdef0123456789abcdef}}}
      recordings: {path: recordings}
      cameras:
        camera: {source: "pattern:counter,size=640x360,fps=10"}
        door:
          source: "pattern:counter,size=640x360,fps=10"
          replay: 10s
          record: {when: trigger}
        yard: {source: "pattern:counter,size=640x360,fps=10", motion: {zones: {gate: "0.1,0.4,0.3,0.5"}}}
      """
    try folder.write(Array(configuration.utf8), to: "glpreview.yaml")
    try folder.write(CopiedFiles.offer, to: "offer.sdp")
    let service = try await ServedCommand("--config", "glpreview.yaml", in: folder)
    // Pages at once; lines of one page may need what those before them have done.
    await withDiscardingTaskGroup { group in
      for page in Dictionary(grouping: lines, by: \.page).values {
        group.addTask { for line in page { await check(line, by: service) } }
      }
    }
  }

  private func check(_ line: CopiedLine, by service: ServedCommand) async {
    // No camera here has controls.
    let expected = line.text.contains("/controls") ? "409" : "2"
    // What the service has gathered, the pictures of the last seconds, takes its time; and of the pages that are tried
    // at once, only two may take snapshots.
    var status = ""
    await until {
      guard let result = try? await line.run(in: folder, service: service.port) else { return false }
      status = String(decoding: result.output.suffix(3), as: UTF8.self)
      return status.hasPrefix(expected) || !["000", "404", "409", "429", "503"].contains(status)
    }
    #expect(status.hasPrefix(expected), "\(line): \(status)")
  }
}
