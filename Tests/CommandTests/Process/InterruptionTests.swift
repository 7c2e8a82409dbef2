import Foundation
import Testing

@Suite("Termination by signals")
struct InterruptionTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test(
    "SIGINT or SIGTERM ends a run between pictures with 130 or 143 and leaves only complete files",
    arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)], ["gpu", "reference"])
  func files(signal: (number: Int32, status: Int32), renderer: String) async throws {
    let command = try await RunningCommand(
      [
        "render", "pattern:counter,size=64x48", "--frames", "1000000", "-o", "{frame}.png", "--json",
        "--renderer",
        renderer,
      ], in: folder)
    for _ in 0..<3 { #expect(await command.nextLine() != nil) }

    command.send(signal.number)
    let result = try await command.result()

    #expect(result.status == signal.status)
    #expect(result.errors.isEmpty)
    let names = try folder.names
    #expect(names.count >= 3)
    for name in names { #expect(PictureFacts(try folder.bytes(of: name))?.format == .png, "\(name)") }
  }

  @Test("SIGINT ends a run that waits for more standard input and leaves only complete files")
  func standardInput() async throws {
    let command = try await RunningCommand(
      ["render", "-", "--renderer", "reference", "-o", "{frame}.png", "--json"], in: folder)
    command.write(SourceBytes.y4m(0..<3))
    #expect(await command.nextLine() != nil)

    command.send(SIGINT)
    #expect(try await command.result().status == 130)

    let names = try folder.names
    // Which frame is the newest when the first one is asked for, nobody knows.
    #expect(!names.isEmpty)
    for name in names { #expect(PictureFacts(try folder.bytes(of: name)) != nil, "\(name)") }
  }

  @Test("SIGTERM ends a run that waits for the first byte of standard input")
  func firstByte() async throws {
    let command = try await RunningCommand(
      ["render", "-", "--renderer", "reference", "-o", "x.png"], in: folder)
    try await command.waitUntilIdle()
    command.send(SIGTERM)
    #expect(try await command.result().status == 143)
    #expect(try folder.names == [])
  }

  @Test("SIGINT ends a run that waits for a writer of its source FIFO")
  func sourceFIFO() async throws {
    try folder.makeFIFO("pipe")
    let command = try await RunningCommand(
      ["render", "pipe", "--renderer", "reference", "-o", "x.png"], in: folder)
    try await command.waitUntilIdle()
    command.send(SIGINT)
    #expect(try await command.result().status == 130)
    #expect(try folder.names == ["pipe"])
  }

  @Test("SIGINT ends a run that waits for a reader of its output FIFO")
  func outputFIFO() async throws {
    try folder.makeFIFO("pipe.png")
    let command = try await RunningCommand(
      ["render", "pattern:smpte,size=16x8", "--renderer", "reference", "-o", "pipe.png"], in: folder)
    try await command.waitUntilIdle()
    command.send(SIGINT)
    #expect(try await command.result().status == 130)
    #expect(try folder.names == ["pipe.png"])
  }
}
