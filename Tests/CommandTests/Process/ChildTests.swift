// What a command (`exec:`) gets of the process that runs it, and what is left of both when one is killed.
import Foundation
import TestSupport
import Testing

@Suite("Child processes and secrets")
struct ChildTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// Whether a process runs; a zombie is as good as gone: it waits for a parent that may be slow to ask.
  private static func runs(_ id: pid_t) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
    return !status.contains(") Z ")
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try folder.bytes(of: name), as: UTF8.self)
  }

  @Test(
    "killing a run also ends its exec: command and that command's child processes", .timeLimit(.minutes(15)))
  func killed() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
    let script = """
      echo $$ > shell; sleep 1000 & echo $! > first; sleep 1000 | cat > /dev/null & echo $! > second; \
      cat a.y4m; sleep 1000 | cat
      """

    let run = try await RunningCommand(
      ["render", "--renderer", "reference", "exec:\(script)", "--lossless", "-o", "{frame}.png", "--json"],
      in: folder)
    #expect(await run.nextLine() != nil)
    let ids = try ["shell", "first", "second"].map {
      try #require(pid_t(text($0).trimmingCharacters(in: .whitespacesAndNewlines)))
    }
    #expect(ids.allSatisfy(Self.runs))

    run.send(SIGKILL)
    // Its streams end with the last process that has them.
    #expect(try await run.result().status == 128 + SIGKILL)
    await until { !ids.contains(where: Self.runs) }
  }

  @Test("an exec: command receives SIGTERM and can clean up before it is killed", .timeLimit(.minutes(15)))
  func polite() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
    // A shell may tell of the signal that its own child got.
    let script =
      "exec 2> /dev/null; trap 'echo bye > bye; exit 0' TERM; cat a.y4m; while :; do sleep 0.01; done"
    // It has 300 ms for it, which a busy machine may not give it each time.
    for _ in 0..<20 where (try? text("bye")) == nil {
      let result = try await folder.render("exec:\(script)", "--frames", "1", "-o", "a.png")
      #expect(result.status == 0)
      #expect(result.errors == "")
    }
    #expect(try text("bye") == "bye\n")
  }

  @Test("an exec: command inherits no secret variables and no descriptors but its three streams")
  func inheritance() async throws {
    try folder.write(SourceBytes.y4m(0..<1), to: "a.y4m")
    let secrets = [
      "GLPREVIEW_TOKEN", "GLPREVIEW_USER", "CAMERA_PASSWORD", "NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS",
      "CREDENTIALS_DIRECTORY", "AWS_SECRET_ACCESS_KEY",
    ]
    let environment = Dictionary(uniqueKeysWithValues: secrets.map { ($0, "SECRET") })
      .merging(["LC_TIME": "C", "GST_DEBUG": "1"]) { $1 }

    let result = try await folder.run(
      [
        "render", "--renderer", "reference",
        "exec:env > variables; ls -l /proc/$$/fd > descriptors; cat a.y4m", "-o",
        "a.png",
      ], environment: environment)

    #expect(result.status == 0, "\(result.errors)")
    let variables = try text("variables")
    #expect(!variables.contains("SECRET"), "\(variables)")
    for name in ["PATH=", "LC_TIME=C", "GST_DEBUG=1"] { #expect(variables.contains(name)) }
    let lines = try text("descriptors").split(separator: "\n").filter { $0.contains(" -> ") }
    let descriptors = lines.map { line in line.split(separator: " ").dropLast(2).last.map(String.init) ?? "" }
    #expect(Set(descriptors).subtracting(["10"]) == ["0", "1", "2"], "\(descriptors)")
  }

  @Test("a secret header is masked in the process's arguments", .timeLimit(.minutes(15)))
  func arguments() async throws {
    let run = try await RunningCommand(
      [
        "render", "-", "--header", "Authorization: Bearer SECRET", "--renderer", "reference", "-o", "null:",
        "--quiet",
      ],
      in: folder)
    try await run.waitUntilIdle()

    let shown = try run.shownArguments
    #expect(
      !shown.contains("SECRET") && shown.contains("--header\0***\0") && shown.hasSuffix("null:\0--quiet\0"),
      "\(shown)")

    run.closeInput()
    _ = try await run.result()
  }

  @Test(
    "a run started with closed standard streams writes an intact picture",
    .timeLimit(.minutes(15)))
  func closedStreams() async throws {
    let command = try ChildProcess(
      "/bin/sh",
      [
        "-c",
        "\"$0\" render pattern:smpte,size=16x16 --renderer reference -o a.png --json <&- >&- 2>&-; echo $? > status",
        RunningCommand.executable,
      ],
      environment: ProcessInfo.processInfo.environment, in: folder.url.path, writingTo: nil)

    #expect(await ChildProcess.status(of: command.id) == 0)
    #expect(try text("status") == "0\n")
    #expect(try folder.bytes(of: "a.png").starts(with: [0x89, 0x50, 0x4E, 0x47]))
    #expect(try folder.names == ["a.png", "status"])
  }

  @Test("usage errors do not contain passwords from URLs or headers")
  func usage() async throws {
    for arguments in [
      ["render", "rtsp://u:SECRET@h/", "http://u:SECRET@h/", "--nonsense"],
      ["serve", "a", "http://u:SECRET@h/?k=SECRET"],
      ["render", "x.jpg", "--header", "SECRET", "-o", "null:"],
      ["render", "http://u:SECRET@[::1/", "-o", "null:"],
      ["serve", "a", "--device", "http://u:SECRET@h/"], ["render", "user:SECRET@host/live", "-o", "null:"],
    ] {
      let result = try await folder.run(arguments)
      #expect(result.status != 0)
      #expect(!result.errors.isEmpty && !result.errors.contains("SECRET"), "\(result.errors)")
    }
  }
}
