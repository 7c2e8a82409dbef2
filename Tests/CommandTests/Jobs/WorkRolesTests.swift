// A worker with the permissions that docs/nats.md has for it: it can do all that jobs need, and no more. And one that proves
// itself by a certificate.
import Foundation
import GLPreview
import NATS
import TestSupport
import Testing

@testable import glpreview_cli

/// One after another with the others that have a worker run: so many processes are not had at a time.
extension WorkTests {
  @Suite("NATS permissions and certificates of workers", .enabled(if: NATSServer.isInstalled))
  struct WorkRolesTests {
    private let folder: TestFolder

    init() throws {
      folder = try TestFolder()
      for name in ["in", "out"] { try folder.makeFolder(name) }
    }

    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/nats.md")

    /// The user as the page has it, with a password that is known.
    private static func workersEntry() throws -> String {
      let text = try String(contentsOf: page, encoding: .utf8)
      let start = try #require(text.range(of: #"{user: "worker","#))
      let end = try #require(text[start.lowerBound...].range(of: "}}"))
      let entry = String(text[start.lowerBound..<end.upperBound])
      return entry.replacing(#""$2a$11$...""#, with: "worker")
    }

    private func worker(_ options: [String]) async throws -> RunningCommand {
      try await RunningCommand(
        ["work", "--renderer", "reference", "--sources", "in", "--folder", "out"] + options, in: folder)
    }

    private static func client(_ user: String, of server: NATSServer) async throws -> NATSClient {
      var configuration = NATSConfiguration(servers: [NATSServerAddress(host: "127.0.0.1", port: server.port)]
      )
      configuration.authentication = .user(user, password: user)
      return try await NATSClient.connect(configuration, logger: .silent)
    }

    @Test("a worker with the documented NATS permissions can do jobs, but not publish or read more")
    func permissions() async throws {
      let server = try await NATSServer(
        #"""
        jetstream { store_dir: "FOLDER/js" }
        authorization { users: [
          {user: "admin", password: "admin"}
          \#(try Self.workersEntry())
        ] }
        """#)
      #expect(try await folder.render("pattern:smpte,size=8x8", "-o", "in/a.jpg").status == 0)
      try folder.write(Array("no picture".utf8), to: "in/bad.jpg")
      for user in ["admin", "worker"] { try folder.write(Array(user.utf8), to: user) }
      let address = ["--nats", "nats://127.0.0.1:\(server.port)"]
      // It makes the streams itself.
      let worker = try await worker(address + ["--user", "worker", "--password-file", "worker"])
      func submit(_ arguments: String...) async throws -> CommandResult {
        try await folder.run(
          ["submit", "--user", "admin", "--password-file", "admin"] + address + arguments)
      }
      let mixed = try await submit("a.jpg", "bad.jpg", "--to", "{name}.jpg")
      #expect(mixed.status == 65 && mixed.errors.contains("1 of 2 jobs failed"), "\(mixed.errors)")
      #expect(try folder.bytes(of: "out/a.jpg").starts(with: [0xFF, 0xD8]))
      let admin = try await Self.client("admin", of: server)
      let queue = try JobQueue(admin, prefix: "glp")
      #expect(try await queue.jetStream.stream(queue.deadStream).state.messages == 1)
      let replies = try admin.subscribe("glp.replies.me")
      try await admin.flush()
      #expect(try await submit("a.jpg", "--to", "reply:glp.replies.me").status == 0)
      #expect(try await replies.next()?.payload.starts(with: [0xFF, 0xD8]) == true)
      worker.send(SIGTERM)
      let end = try await worker.result()
      #expect(end.status == 0 && !end.errors.contains("not permitted"), "\(end.errors)")

      let client = try await Self.client("worker", of: server)
      for subject in [
        "glp.jobs.todo.x", "glp.snap.door", "glp.cmd.door", "glp.ev.shed.view", "$KV.glp.n.shed",
        "$KV.glp.c.door",
        "_INBOX.admin.x", "$JS.API.STREAM.DELETE.GLP_JOBS", "$JS.API.STREAM.PURGE.GLP_JOBS",
        "$JS.API.STREAM.MSG.GET.GLP_DEAD", "$JS.API.STREAM.UPDATE.KV_glp-results",
        "$JS.API.STREAM.DELETE.KV_glp-results", "$JS.API.STREAM.INFO.KV_glp",
        "$JS.API.CONSUMER.DELETE.GLP_JOBS.workers",
        "$JS.API.CONSUMER.DURABLE.CREATE.GLP_JOBS.other", "$JS.ACK.KV_glp.x",
      ] {
        #expect(try await !client.mayPublish(subject), "\(subject)")
      }
      for pattern in [">", "glp.>", "glp.jobs.todo.*", "glp.snap.*", "_INBOX.>", "_INBOX.admin.>", "$KV.>"] {
        #expect(try await !client.maySubscribe(pattern), "\(pattern)")
      }
      #expect(try await client.mayPublish("glp.jobs.dead.x"))
      await client.close()
      await admin.close()
    }

    @Test(
      "workers and `submit` use client certificates, and `submit` without one exits with 69",
      .enabled(if: Certificates.openssl != nil, "needs openssl"))
    func certificates() async throws {
      let files = try await Certificates(in: NATSServer.makeFolder())
      defer { try? FileManager.default.removeItem(at: files.folder) }
      let server = try await NATSServer(
        """
        jetstream { store_dir: "FOLDER/js" }
        tls { cert_file: "\(files.server)", key_file: "\(files.serverKey)", ca_file: "\(files.authority)", verify: true }
        """)
      #expect(try await folder.render("pattern:smpte,size=8x8", "-o", "in/a.jpg").status == 0)
      let address = ["--nats", "tls://localhost:\(server.port)", "--ca-file", files.authority]
      let own = address + ["--cert-file", files.client, "--key-file", files.clientKey]
      let worker = try await worker(own)

      let result = try await folder.run(["submit", "a.jpg", "--to", "{name}.jpg"] + own)
      #expect(result.status == 0, "\(result.errors)")
      expectFailure(try await folder.run(["submit", "a.jpg", "--to", "{name}.jpg"] + address), 69)
      #expect(try await folder.run(["submit", "a.jpg", "--cert-file", files.client] + address).status == 64)
      worker.send(SIGTERM)
      #expect(try await worker.result().status == 0)
    }
  }
}
