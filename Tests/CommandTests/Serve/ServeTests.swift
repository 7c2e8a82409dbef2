// `glpreview serve` before it serves: options, help, and what --check-config tells.
import Foundation
import Testing

@Suite("`glpreview serve` command line")
struct ServeTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func check(_ arguments: String..., environment: [String: String] = [:]) async throws
    -> CommandResult
  {
    try await folder.run(["serve", "--check-config"] + arguments, environment: environment)
  }

  private func lines(_ result: CommandResult) -> [Substring] {
    String(decoding: result.output, as: UTF8.self).split(separator: "\n")
  }

  @Test("`--check-config` without arguments reports the test pattern on 127.0.0.1:8080")
  func nothing() async throws {
    let result = try await check()
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      lines(result) == [
        "configuration OK: 1 camera, 0 scenes; listening on 127.0.0.1:8080 without authentication",
        "  camera: main",
      ])
  }

  @Test("`--check-config` summarizes a valid file without its secrets")
  func file() async throws {
    let text = """
      bind: 0.0.0.0:80
      access: {tokens: [{token: hush}]}
      cameras: {door: {source: "rtsp://ann:hush@door/"}, yard: {source: x, views: {a: {}, b: {}}}}
      scenes: {both: {}}
      """
    try folder.write(Array(text.utf8), to: "c.yaml")

    let result = try await check("--config", "c.yaml")

    #expect(result.status == 0)
    #expect(
      lines(result) == [
        "configuration OK: 2 cameras, 1 scene; listening on 0.0.0.0:80 with 1 token and 0 users",
        "  door: main", "  yard: a, b",
        "  both: a scene of door, yard",
      ])
  }

  @Test("`--check-config` prints replay memory; a late trigger-delay or too little memory is an error")
  func replay() async throws {
    let camera = "{source: pattern:counter, replay: 10s, replay-bytes: 32MB}"
    try folder.write(Array("cameras: {door: \(camera), yard: {source: x, replay: 1m}}".utf8), to: "c.yaml")
    let result = try await check("--config", "c.yaml")
    #expect(
      lines(result).dropFirst() == [
        "  door: main", "  yard: main",
        "  door: buffers its last 10 s of pictures for replay, up to 32 MB of memory, and stays open",
        "  yard: buffers its last 60 s of pictures for replay, up to 64 MB of memory, and stays open",
        "  in total up to 96 MB for replay",
      ])

    try folder.write(Array("cameras: {a: {source: x, replay: 1s, trigger-delay: 1500ms}}".utf8), to: "d.yaml")
    let mistake = try await check("--config", "d.yaml")
    #expect(mistake.status == 64 && mistake.errors.contains("cameras.a.trigger-delay"))

    let little = "limits: {memory: 127MB}\ncameras: {a: {source: x, replay: 1s}}"
    try folder.write(Array(little.utf8), to: "e.yaml")
    let lack = try await check("--config", "e.yaml")
    #expect(lack.status == 64 && lack.errors.contains("limits.memory: the cameras' replay-bytes"))
  }

  @Test("`--check-config` prints all errors of all files, each with its place, and exits with status 64")
  func mistakes() async throws {
    try folder.write(Array("bind: nowhere:x\ngpu: slow\n".utf8), to: "a.yaml")
    try folder.write(Array("colour: red\ncameras: {\"a\\nb\": {source: x}}\n".utf8), to: "b.yaml")
    let result = try await check("-c", "a.yaml", "-c", "b.yaml", "--quality", "0")
    #expect(result.status == 64 && result.output.isEmpty)
    let places = result.errors.split(separator: "\n").map { $0.split(separator: ": ")[0] }
    #expect(
      places.sorted() == ["--quality", "--quality", "a.yaml:1:7", "a.yaml:2:6", "b.yaml:1:1", "b.yaml:2:11"])
  }

  @Test(
    "options set the listen address",
    arguments: [
      (["--bind", "[::1]:9"], "[::1]:9"), (["-s", "localhost"], "localhost:8080"),
      (["-p", "9"], "127.0.0.1:9"),
      (["--host", "::1", "--port", "0"], "[::1]:0"), (["-U", "/tmp/glp.sock"], "unix:/tmp/glp.sock"),
      (["--bind", "0.0.0.0:9", "--insecure"], "0.0.0.0:9"),
    ])
  func addresses(options: [String], address: String) async throws {
    let result = try await folder.run(["serve", "--check-config", "pattern:smpte"] + options)
    #expect(result.errors.isEmpty && result.status == 0)
    #expect(
      lines(result).first?.contains("listening on \(address) without authentication") == true,
      "\(lines(result))")
  }

  @Test(
    "invalid options exit with status 64 and a message that says why",
    arguments: [
      (["--bind", "a:1", "--port", "2"], "--host or --port"), (["a", "--device", "b"], "--device"),
      (["--bind", "0.0.0.0:80"], "GLPREVIEW_TOKEN"), (["--user", "ann"], "NAME:PASSWORD"),
      (["--log-format", "xml"], "log-format"), (["--log-level", "loud"], "log-level"),
      (["--gpu", "fast"], "--gpu"),
      (["--tls-key", "x"], "tls.certificate"), (["--view", "a:b=c"], "unknown key 'b'"),
      (["--fps", "0"], "--fps"),
      (["-r", "big"], "--resolution"), (["--lens", "fish"], "--lens"),
      (["--config", "gone.yaml"], "gone.yaml: no such file"),
      (["a", "b"], "b"),
    ])
  func usage(options: [String], word: String) async throws {
    let result = try await folder.run(["serve", "--check-config"] + options)
    #expect(result.status == 64)
    #expect(result.errors.contains(word), "\(result.errors)")
  }

  @Test("`--lens` gives the camera the lens that views with a projection need")
  func lens() async throws {
    let view = ["pattern:smpte", "--view", "door:yaw=20,hfov=60"]
    let without = try await folder.run(["serve", "--check-config"] + view)
    #expect(without.status == 64 && without.errors.contains("the camera has no lens"), "\(without.errors)")
    let with = try await folder.run(["serve", "--check-config"] + view + ["--lens", "fisheye fov 190"])
    #expect(with.status == 0 && lines(with).last == "  camera: door", "\(with.errors)")
  }

  @Test("GLPREVIEW_BIND and GLPREVIEW_TOKEN set the listen address and a token")
  func environment() async throws {
    let result = try await check(
      environment: [
        "GLPREVIEW_BIND": "0.0.0.0:80", "GLPREVIEW_TOKEN": "hush", "GLPREVIEW_REQUIRE_HARDWARE": "yes",
      ])
    #expect(
      lines(result).first
        == "configuration OK: 1 camera, 0 scenes; listening on 0.0.0.0:80 with 1 token and 0 users")
    #expect(!result.errors.contains("hush"))
    let mistake = try await check(environment: ["GLPREVIEW_REQUIRE_HARDWARE": "perhaps"])
    #expect(
      mistake.status == 64 && mistake.errors.contains("GLPREVIEW_REQUIRE_HARDWARE"), "\(mistake.errors)")
  }

  @Test("`--help` lists options, safer ways to pass secrets, and exit statuses")
  func help() async throws {
    let result = try await folder.run("serve", "--help")
    #expect(result.status == 0 && result.errors.isEmpty)
    let text = String(decoding: result.output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")

    let words = [
      "--config", "--check-config", "--bind", "--view", "--fps", "--insecure", "--token", "--user",
      "--tls-certificate", "--tls-key", "--log-format", "--log-level", "--gpu", "--require-hardware",
      "-d, --device", "-r, --resolution", "-f, --fps", "--desired-fps", "-q, --quality", "-s, --host",
      "-p, --port",
      "-U, --unix", "GLPREVIEW_TOKEN", "token-file", "127.0.0.1:8080", "SIGHUP", "64 ", "69 ",
    ]
    for word in words { #expect(text.contains(word), "\(word)") }
  }
}
