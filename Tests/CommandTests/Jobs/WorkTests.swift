// The commands `work` and `submit` with a real nats-server.
import Foundation
import GLPreview
import NATS
import TestSupport
import Testing

@testable import glpreview_cli

@Suite("The commands work and submit", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct WorkTests {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    for name in ["in", "out"] { try folder.makeFolder(name) }
  }

  private static let storage = #"jetstream { store_dir: "FOLDER/js" }"#

  private func address(_ server: NATSServer) -> [String] { ["--nats", "nats://127.0.0.1:\(server.port)"] }

  private func worker(_ server: NATSServer, _ options: String...) async throws -> RunningCommand {
    try await RunningCommand(
      ["work", "--renderer", "reference", "--sources", "in", "--folder", "out"] + address(server) + options,
      in: folder)
  }

  private func submit(_ server: NATSServer, _ arguments: String...) async throws -> CommandResult {
    try await folder.run(["submit"] + address(server) + arguments)
  }

  /// Stops a worker, which has to end well.
  private func stop(_ worker: RunningCommand) async throws {
    worker.send(SIGTERM)
    let result = try await worker.result()
    #expect(result.status == 0, "\(result.errors)")
  }

  /// Asks the queue, as a client of its own.
  private func asking<Value>(
    _ server: NATSServer, _ question: (JobQueue) async throws -> Value
  ) async throws -> Value {
    let address = NATSServerAddress(host: "127.0.0.1", port: server.port)
    let client = try await NATSClient.connect(NATSConfiguration(servers: [address]), logger: .silent)
    do {
      let value = try await question(try JobQueue(client, prefix: "glp"))
      await client.close()
      return value
    } catch {
      await client.close()
      throw error
    }
  }

  /// How many messages the results have ever had: one a job and one for the batch, unless something is recorded twice.
  private func recordCount(_ server: NATSServer) async throws -> UInt64 {
    try await asking(server) { try await $0.jetStream.stream("KV_glp-results").state.lastSequence }
  }

  private func writePicture(_ name: String, _ pattern: String = "smpte,size=64x48") async throws {
    try await folder.writePicture(of: pattern, to: "in/\(name)")
  }

  private func lines(_ result: CommandResult) throws -> [JobResult] {
    try String(decoding: result.output, as: UTF8.self).split(separator: "\n").map {
      try JSONDecoder().decode(JobResult.self, from: Data($0.utf8))
    }
  }

  @Test("a job's pictures are identical to those of `render` with the same options")
  func samePictures() async throws {
    try await writePicture("a.jpg")
    try await writePicture("b.png", "zoneplate,size=33x77")
    let options = ["--view", "x:size=20x", "--view", "y:rotate=90,size=9x", "--quality", "60"]
    let server = try await NATSServer(Self.storage)
    let worker = try await worker(server)

    let result = try await folder.run(
      ["submit", "a.jpg", "b.png", "--to", "s/{name}-{view}.jpg"] + address(server) + options)

    #expect(result.status == 0, "\(result.errors)")
    #expect(
      try await folder.render(
        "in/a.jpg", "in/b.png", "-o", "{name}-{view}.jpg", "--view", "x:size=20x",
        "--view", "y:rotate=90,size=9x", "--quality", "60"
      ).status == 0)
    for name in ["a-x.jpg", "a-y.jpg", "b-x.jpg", "b-y.jpg"] {
      #expect(try folder.bytes(of: "out/s/\(name)") == folder.bytes(of: name), "\(name)")
    }
    try await stop(worker)
  }

  @Test("failed jobs go to the dead-letter stream, the others finish, and `submit` exits with 65")
  func badJobs() async throws {
    try await writePicture("a.jpg")
    try folder.write(Array("no picture".utf8), to: "in/bad.jpg")
    let server = try await NATSServer(Self.storage)
    let worker = try await worker(server)

    let result = try await submit(server, "a.jpg", "bad.jpg", "missing.jpg", "--to", "{name}.jpg")

    #expect(result.status == 65)
    for words in ["bad.jpg: is not a JPEG", "missing.jpg: No such file", "2 of 3 jobs failed"] {
      #expect(result.errors.contains(words), "\(result.errors)")
    }
    #expect(try await submit(server, "nothing.jpg").status == 66)
    let dead = try await asking(server) { try await $0.jetStream.stream($0.deadStream).state.messages }
    #expect(dead == 3)
    try await asking(server) { queue in
      _ = try await queue.jetStream.publish("glp.jobs.todo.x", Array("{".utf8), id: "x.1")
      await until {
        let result = try? await queue.results.get("x.1")
        return result.flatMap { try? JSONDecoder().decode(JobResult.self, from: Data($0.value)) }?.state
          == .failed
      }
      #expect(try await queue.jetStream.stream(queue.deadStream).state.messages == 4)
    }
    try await stop(worker)
  }

  @Test("jobs that read, write or connect outside the worker's permissions fail and write nothing")
  func escapes() async throws {
    try await writePicture("a.jpg")
    #expect(try await folder.render("pattern:smpte,size=8x8", "-o", "secret.jpg").status == 0)
    try folder.link("in/link.jpg", to: "../secret.jpg")
    try folder.link("out/way", to: folder.url.path)
    let server = try await NATSServer(Self.storage)
    let worker = try await worker(server)
    let sources = [
      "../secret.jpg", folder["secret.jpg"].path, "link.jpg", "exec:cat secret.jpg", "-", "/dev/video0",
      "rtsp://127.0.0.1/a", "http://127.0.0.1:1/a.jpg", "in",
    ]
    let destinations = [
      "../b.jpg", folder["b.jpg"].path, "way/b.jpg", "http://127.0.0.1:1/b.jpg", "reply:glp.x",
    ]
    let jobs =
      sources.enumerated().map { Job(id: "s\($0)", batch: "e", source: $1, to: "b.jpg") }
      + destinations.enumerated().map {
        Job(id: "d\($0)", batch: "e", source: "a.jpg", to: $1, attempts: 1)
      }

    try await asking(server) { queue in
      for job in jobs { #expect(try await queue.submit(job)) }
      for job in jobs {
        await until { (try? await queue.results.get(job.key)) != nil }
        let entry = try #require(try await queue.results.get(job.key))
        #expect(try JSONDecoder().decode(JobResult.self, from: Data(entry.value)).state == .failed, "\(job)")
      }
    }

    #expect(try folder.names == ["in", "out", "secret.jpg"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["out"].path) == ["way"])
    try await stop(worker)
  }

  @Test("a resubmitted batch is not done again, and its results can be read again")
  func duplicates() async throws {
    try await writePicture("a.jpg")
    try await writePicture("b.jpg")
    let server = try await NATSServer(Self.storage)
    #expect(
      try await submit(server, "a.jpg", "b.jpg", "--batch", "n", "--detach").output == Array("n\n".utf8))
    #expect(try await submit(server, "a.jpg", "b.jpg", "a.jpg", "--batch", "n", "--detach").status == 0)
    let waiting = try await asking(server) { try await $0.jetStream.stream($0.jobsStream).state.messages }
    #expect(waiting == 2)
    let worker = try await worker(server)

    let first = try await submit(server, "a.jpg", "b.jpg", "--batch", "n", "--json")
    let again = try await submit(server, "--batch", "n", "--json")

    #expect(first.status == 0 && again.status == 0)
    #expect(try lines(first).map(\.id).sorted() == lines(again).map(\.id).sorted())
    #expect(try lines(first).count == 2)
    // Three times the batch's own record.
    #expect(try await recordCount(server) == 2 + 3)
    #expect(try await submit(server, "--batch", "never").status == 64)
    try await stop(worker)
  }

  @Test("a killed worker's jobs are done by another worker, and each result is recorded once")
  func killed() async throws {
    let server = try await NATSServer(Self.storage)
    let names = (0..<40).map { "p\($0).jpg" }
    try await writePicture("p0.jpg")
    for name in names.dropFirst() { try folder.write(folder.bytes(of: "in/p0.jpg"), to: "in/\(name)") }
    #expect(
      try await folder.run(
        ["submit", "--batch", "k", "--detach", "--to", "{name}.jpg", "--size", "9x"] + names + address(server)
      ).status == 0)
    let first = try await worker(server, "--concurrency", "2")
    await until { ((try? await recordCount(server)) ?? 0) > 5 }

    first.send(SIGKILL)
    #expect(try await first.result().status == 137)
    let second = try await worker(server)
    let result = try await submit(server, "--batch", "k", "--json")

    #expect(result.status == 0, "\(result.errors)")
    #expect(Set(try lines(result).map(\.id)).count == 40)
    #expect(try lines(result).count == 40)
    let pictures = try FileManager.default.contentsOfDirectory(atPath: folder["out"].path)
    #expect(pictures.sorted() == names.sorted())
    #expect(try await recordCount(server) == 41)
    try await stop(second)
  }

  @Test("jobs continue after nats-server is killed and restarted, and each result is recorded once")
  func restartedServer() async throws {
    let first = try await NATSServer(Self.storage)
    try await writePicture("a.jpg")
    let names = (0..<30).map { "p\($0).jpg" }
    for name in names { try folder.write(folder.bytes(of: "in/a.jpg"), to: "in/\(name)") }
    #expect(
      try await folder.run(
        ["submit", "--batch", "r", "--detach", "--to", "{name}.jpg", "--size", "9x"] + names + address(first)
      ).status == 0)
    let worker = try await worker(first)
    await until { ((try? await recordCount(first)) ?? 0) > 3 }

    await first.kill9()
    let second = try await NATSServer(Self.storage, port: first.reserved, folder: first.folder)
    let result = try await submit(second, "--batch", "r", "--json")

    #expect(result.status == 0, "\(result.errors)")
    #expect(Set(try lines(result).map(\.id)).count == 30)
    #expect(try await recordCount(second) == 31)
    try await stop(worker)
  }

  @Test("a reply message contains a JPEG and has the headers View and Content-Type")
  func reply() async throws {
    try await writePicture("a.jpg")
    let server = try await NATSServer(Self.storage)
    let worker = try await worker(server)

    try await asking(server) { queue in
      let replies = try queue.client.subscribe("glp.replies.me")
      try await queue.client.flush()
      let result = try await submit(server, "a.jpg", "--size", "8x", "--to", "reply:glp.replies.me")
      #expect(result.status == 0, "\(result.errors)")
      let message = try #require(try await replies.next())
      #expect(message.payload.starts(with: [0xFF, 0xD8]))
      #expect(
        message.headers["View"] == ViewConfiguration().name && message.headers["Content-Type"] == "image/jpeg"
      )
    }
    try await stop(worker)
  }

  @Test("a worker exits with 0 on SIGTERM while nats-server is down, and `submit` exits with 69")
  func noServer() async throws {
    let server = try await NATSServer(Self.storage)
    let worker = try await worker(server)
    try await worker.waitUntilIdle()
    await server.kill9()
    try await stop(worker)

    expectFailure(try await submit(server, "a.jpg"), 69)
  }

  @Test("`submit` and `work` exit with 64 for invalid arguments before they connect")
  func usage() async throws {
    let server = ["--nats", "127.0.0.1:1"]
    let cases: [([String], String)] = [
      (["../a.jpg"], "../a.jpg"), (["/a.jpg"], "/a.jpg"), (["a.jpg", "b.jpg", "--to", "c.jpg"], "{name}"),
      (["a.jpg", "--to", "../c.jpg"], "relative"), (["a.jpg", "--to", "c.mp4"], "c.mp4"),
      (["a.jpg", "--size", "tiny"], "tiny"), (["rtsp://host/a"], "address"),
    ]
    for (arguments, word) in cases {
      expectFailure(try await folder.run(["submit"] + arguments + server), 64, naming: word)
    }
    #expect(try await folder.run(["submit", "a.jpg", "--batch", "a.b"] + server).status == 64)
    #expect(try await folder.run(["submit", "a.jpg"]).status == 64)
    #expect(try await folder.run(["work"] + server).status == 64)
  }
}
