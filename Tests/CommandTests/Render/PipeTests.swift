// Pipes and commands as live sources: a slow reader gets the newest frame, or all of them if it asks for that.
import Foundation
import TestSupport
import Testing

@Suite("Pipes and commands as sources")
struct PipeTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("a pipe rendered to a fixed file name gives one picture")
  func single() async throws {
    let result = try await folder.render("-", "-o", "now.png", "--json", input: SourceBytes.y4m(0..<3))
    #expect(result.status == 0)
    #expect(try folder.names == ["now.png"])
    #expect(try result.reports.map(\.transport) == ["pipe"])
  }

  @Test("--frames 40 renders the first 40 consecutive frames of a pipe")
  func row() async throws {
    let result = try await folder.render(
      "-", "--frames", "40", "-o", "null:", "--json", input: SourceBytes.y4m(0..<50))
    #expect(try result.reports.map(\.frame) == Array(0..<40))
  }

  @Test(
    "a slow run renders frames in order, including the last, and reports the number dropped"
  )
  func newest() async throws {
    let result = try await folder.render("-", "-o", "null:png", "--json", input: SourceBytes.y4m(0..<500))
    #expect(result.status == 0)
    let frames = try result.reports.map(\.frame)
    #expect(frames == frames.sorted() && Set(frames).count == frames.count)
    #expect(frames.last == 499)
    let dropped = 500 - frames.count
    #expect(result.errors == (dropped == 0 ? "" : "glpreview: -: of 500 frames, \(dropped) dropped\n"))
  }

  @Test("--lossless renders every frame of a pipe")
  func lossless() async throws {
    let result = try await folder.render(
      "-", "--lossless", "-o", "null:", "--json", input: SourceBytes.y4m(0..<200))
    #expect(try result.reports.map(\.frame) == Array(0..<200))
    #expect(result.errors == "")
  }

  @Test(
    "--warmup skips the given number of frames or seconds",
    arguments: [["--warmup", "2"], ["--warmup", "0.06s"]])
  func warmup(words: [String]) async throws {
    try folder.write(SourceBytes.y4m(0..<5), to: "a.y4m")
    let result = try await folder.run(
      ["render", "a.y4m", "--renderer", "reference", "--frames", "2", "-o", "null:", "--json"] + words)
    #expect(try result.reports.map(\.frame) == [2, 3])
  }

  @Test("--interval and --duration are measured by frame timestamps")
  func interval() async throws {
    try folder.write(SourceBytes.y4m(0..<100), to: "a.y4m")
    let result = try await folder.render(
      "a.y4m", "--interval", "0.5", "--duration", "1.6", "-o", "null:", "--json")
    let times = try result.reports.map(\.timestamp)
    #expect(times.count == 4)
    #expect(zip(times, [0, 0.5, 1, 1.5]).allSatisfy { abs($0 - $1) < 0.04 })
  }

  @Test("--duration ends a run whose source sends no more frames")
  func silence() async throws {
    let command = try await RunningCommand(
      ["render", "-", "--renderer", "reference", "--duration", "0.1", "-o", "{frame}.png"], in: folder)
    command.write(SourceBytes.y4m(0..<1))
    #expect(try await command.result().status == 0)
    #expect(try folder.names == ["0.png"])
  }

  @Test("an exec: source renders the frames that its command writes")
  func command() async throws {
    try folder.write(SourceBytes.y4m(0..<3), to: "a.y4m")
    let result = try await folder.render("exec:cat a.y4m", "--lossless", "-o", "{frame}.png", "--json")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.reports.map(\.frame) == [0, 1, 2])
    #expect(try folder.names == ["0.png", "1.png", "2.png", "a.y4m"])
  }

  @Test("an exec: command that fails after writing frames exits with 69, and one without output with 65")
  func failures() async throws {
    for (command, status, words) in [
      ("exec:exit 3", Int32(65), "is empty"), ("exec:cat a.y4m; exit 3", 69, "ended with status 3"),
      ("exec:kill -9 $$", 65, "is empty"), ("exec: ", 64, "needs a command"),
    ] {
      try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
      let result = try await folder.render(command, "--lossless", "-o", "null:")
      #expect(result.status == status)
      #expect(result.errors.contains(words), "\(result.errors)")
    }
  }

  @Test("child processes of an exec: command end with the run", .timeLimit(.minutes(15)))
  func orphans() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
    let command = "exec:sleep 1000 & echo $! > pid; cat a.y4m; wait"

    #expect(try await folder.render(command, "--frames", "1", "-o", "a.png").status == 0)

    let text = String(decoding: try folder.bytes(of: "pid"), as: UTF8.self)
    let id = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    // A zombie is as good as gone: it waits for a parent that may be slow to ask.
    await until {
      let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
      return status?.contains(") Z ") ?? true
    }
  }

  @Test("--reconnect runs an exec: command again after it ends")
  func again() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
    let result = try await folder.render(
      "exec:cat a.y4m", "--reconnect", "3600", "--frames", "3", "-o", "null:", "--json")
    #expect(try result.reports.map(\.frame) == [0, 1, 2])
  }

  @Test(
    "invalid values of live source options exit with 64",
    arguments: [
      ["--interval", "-1"], ["--timeout", "0"], ["--warmup", "x"], ["--warmup", "-1"], ["--duration", "nan"],
      ["--header", "nothing"], ["--control", "=3"],
    ])
  func usage(words: [String]) async throws {
    let result = try await folder.run(["render", "exec:true", "-o", "null:"] + words)
    #expect(result.status == 64)
  }
}
