// What other clients of NATS rely on of jobs, in Recorded/jobs.txt: messages, keys, streams and what `submit` prints.
import Foundation
import NATS
import Synchronization
import TestSupport
import Testing

@testable import glpreview_cli

@Suite("Recorded job interface in NATS", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct JobFaceTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Recorded/jobs.txt")

  /// Arguments of `submit`, without the batch.
  private static let submissions = [
    "pattern:smpte,size=8x8 --to {name}-{index}-{view}.jpg --view a:size=4x --view b --quality 70",
    "pattern:smpte,size=8x8 --to reply:glp.replies.me --json", "bad.jpg gone.jpg --attempts 2",
    "bad.jpg --json --quiet", "pattern:smpte,size=8x8 --detach",
  ]

  @Test("job messages, results, replies, dead letters and stream settings match jobs.txt")
  func face() async throws {
    let folder = try TestFolder()
    for name in ["in", "out"] { try folder.makeFolder(name) }
    try folder.write(Array("no picture".utf8), to: "in/bad.jpg")
    let server = try await NATSServer(#"jetstream { store_dir: "FOLDER/js" }"#)
    let address = NATSServerAddress(host: "127.0.0.1", port: server.port)
    let client = try await NATSClient.connect(NATSConfiguration(servers: [address]), logger: .silent)
    let heard = HeardJobs()
    let all = try client.subscribe(">")
    try await client.flush()
    let listening = Task { for try await message in all { heard.add(message) } }
    let nats = ["--nats", "nats://127.0.0.1:\(server.port)", "--batch", "n"]
    let worker = try await RunningCommand(
      ["work", "--renderer", "reference", "--sources", "in", "--folder", "out", "--name", "here"]
        + nats.dropLast(2), in: folder)

    for arguments in Self.submissions {
      let result = try await folder.run(["submit"] + arguments.split(separator: " ").map(String.init) + nats)
      heard.add(result, of: arguments)
    }
    await heard.hears("glp.jobs.dead.n", "glp.replies.me", "$KV.glp-results.n._")
    // The last submission does not wait for its job, nor a worker for who listens to a failed one.
    await heard.hears(
      #"glp.jobs.todo.n {"batch":"n","id":"HEX","source":"pattern:smpte,size=8x8","to":"{name}-{view}.jpg""#,
      #"glp.jobs.dead.n {"batch":"n","id":"HEX","source":"bad.jpg""#)
    worker.send(SIGTERM)
    heard.add("work", ["\(try await worker.result().status) when it is stopped"])
    for name in ["STREAM.INFO.GLP_JOBS", "STREAM.INFO.GLP_DEAD", "STREAM.INFO.KV_glp-results"]
      + ["CONSUMER.INFO.GLP_JOBS.workers"]
    {
      let answer = try await client.request("$JS.API.\(name)")
      // Some servers say how many replicas a consumer has.
      let isOfServer = { (line: String) in name.hasPrefix("CONSUMER") && line.hasPrefix("num_replicas") }
      heard.add(name, RecordedFace.configuration(in: answer.payload).filter { !isOfServer($0) })
    }
    listening.cancel()
    await client.close()
    try RecordedFace.compare(heard.lines, with: Self.file)
  }
}

/// Lines of all that was received and printed, each once.
private final class HeardJobs: Sendable {
  private let found = Mutex<Set<String>>([])

  var lines: [String] { found.withLock { $0.sorted() } }

  func add(_ start: String, _ lines: [String]) {
    found.withLock { $0.formUnion(lines.map { "\(start) \($0)" }) }
  }

  func hears(_ starts: String...) async {
    await until { starts.allSatisfy { start in lines.contains { $0.hasPrefix(start) } } }
  }

  func add(_ result: CommandResult, of arguments: String) {
    let output = String(decoding: result.output, as: UTF8.self).split(separator: "\n").flatMap { line in
      let members = RecordedFace.members(of: Array(line.utf8))
      return members.isEmpty ? ["output \(line)"] : members.map { "output \($0)" }
    }
    let errors = result.errors.split(separator: "\n").map { "errors \($0)" }
    add("submit \(arguments)", ["status \(result.status)"] + output + errors)
  }

  /// Header fields and content of a message; those of JetStream's requests are NATS's own.
  func add(_ message: NATSMessage) {
    guard ["glp.", "$KV."].contains(where: message.subject.hasPrefix) else { return }
    let subject = RecordedFace.withoutNumbers(message.subject)
    add(subject, message.headers.fields.map { "\($0.name): \(RecordedFace.withoutNumbers($0.value))" })
    guard let object = RecordedFace.object(message.payload) else { return }
    if message.subject.hasPrefix("glp.jobs.") {
      add(subject, [RecordedFace.withoutNumbers(RecordedFace.text(object))])
    } else {
      add(subject + (object["state"].map { " \($0)" } ?? ""), RecordedFace.members(object))
    }
  }
}
