// Pictures that `glpreview work` PUTs to a real HTTP server on loopback, which answers well, badly, or not at all.
import Foundation
import GLPreview
import NATS
import Synchronization
import TestSupport
import Testing

@testable import glpreview_cli

/// One after another with the others that have a worker run: so many processes are not had at a time.
extension WorkTests {
  @Suite("Delivery by HTTP PUT", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
  struct PutTests {
    private let folder: TestFolder

    init() throws {
      folder = try TestFolder()
      try folder.makeFolder("in")
    }

    /// What a server was sent.
    private final class Objects: Sendable {
      let puts = Mutex<[(target: String, type: String?, bytes: [UInt8])]>([])
      var count: Int { puts.withLock { $0.count } }
      var targets: [String] { puts.withLock { $0.map(\.target) } }
    }

    /// A server that answers with the status lines of `statuses`, and then with the last of them.
    private func server(_ objects: Objects, _ statuses: String..., fields: String = "X-A: b") throws
      -> HTTPTestServer
    {
      try HTTPTestServer { peer in
        while let request = peer.request() {
          guard request.text.hasPrefix("PUT ") else { return }
          let bytes = peer.body(of: request)
          let count = objects.puts.withLock { puts in
            puts.append((request.target, request.fields["content-type"], bytes))
            return puts.count
          }
          let status = statuses[min(count, statuses.count) - 1]
          guard peer.send(httpAnswer([], status: status, fields)) else { return }
        }
      }
    }

    /// Runs `work` with a worker that may PUT to `http`.
    private func withWorker(
      _ http: HTTPTestServer, _ options: String...,
      work: (_ submit: @escaping @Sendable ([String]) async throws -> (CommandResult, [JobResult]))
        async throws -> Void
    ) async throws {
      let nats = try await NATSServer(#"jetstream { store_dir: "FOLDER/js" }"#)
      let address = ["--nats", "nats://127.0.0.1:\(nats.port)"]
      let worker = try await RunningCommand(
        ["work", "--renderer", "reference", "--sources", "in", "--put-to", "127.0.0.1:\(http.port)"] + address
          + options, in: folder)
      try await work { [folder] arguments in
        let result = try await folder.run(["submit", "--json"] + arguments + address)
        let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
        return (result, try lines.map { try JSONDecoder().decode(JobResult.self, from: Data($0.utf8)) })
      }
      worker.send(SIGTERM)
      #expect(try await worker.result().status == 0)
      http.stop()
    }

    private func writePicture(_ name: String) async throws {
      try await folder.writePicture(of: "smpte,size=64x48", to: "in/\(name)")
    }

    @Test("a PUT percent-encodes names and keeps the URL's query, which the job's result hides")
    func names() async throws {
      let name = "Straße & #1?+%41;x=y.jpg"
      try await writePicture(name)
      let objects = Objects()
      let http = try server(objects, "200 OK")
      try await withWorker(http) { submit in
        let to = http.url("/b u/{name}-{view}.png?X-Signature=a%2Fb&n={index:03}").replacing(
          "b u", with: "b%20u")
        let (result, jobs) = try await submit([
          name, "--view", "a_b:size=8x", "--view", "c:size=4x", "--to", to,
        ])
        #expect(result.status == 0, "\(result.errors)")
        let stem = "Stra%C3%9Fe%20%26%20%231%3F%2B%2541%3Bx%3Dy"
        #expect(
          objects.targets == ["a_b", "c"].map { "/b%20u/\(stem)-\($0).png?X-Signature=a%2Fb&n=001" })
        let puts = objects.puts.withLock { $0 }
        #expect(puts.allSatisfy { $0.type == "image/png" && $0.bytes.starts(with: [0x89, 0x50]) })
        #expect(jobs.flatMap(\.pictures).map(\.bytes) == puts.map(\.bytes.count))
        // What signs an address is a secret.
        #expect(!jobs.flatMap(\.pictures).map(\.name).joined().contains("a%2Fb"))
      }
    }

    @Test("a PUT answered with 5xx or 429 is retried up to the job's number of attempts")
    func errors() async throws {
      try await writePicture("a.jpg")
      let objects = Objects()
      let http = try server(objects, "500 Oops", "503 Busy", "201 Created", "429 Slow", "500 Oops")
      try await withWorker(http) { submit in
        let (result, jobs) = try await submit(["a.jpg", "--to", http.url("/{name}.jpg")])
        #expect(result.status == 0 && jobs.map(\.deliveries) == [3], "\(result.errors)")
        #expect(objects.targets == ["/a.jpg", "/a.jpg", "/a.jpg"])
        #expect(objects.puts.withLock { Set($0.map(\.bytes)).count } == 1)

        let (failed, lost) = try await submit(["a.jpg", "--to", http.url("/b.jpg"), "--attempts", "2"])
        #expect(failed.status == 65 && objects.count == 5)
        let refused = try await submit(["a.jpg", "--to", "http://127.0.0.1:1/{name}.jpg"]).0
        #expect(refused.status == 65 && refused.errors.contains("--put-to"), "\(refused.errors)")
        #expect(lost.first?.reason?.contains("answered 500 to PUT") == true, "\(failed.errors)")
      }
    }

    @Test(
      "a PUT answered with 307 or 403 fails at once, and the redirect is not followed",
      arguments: ["307 Go", "403 No"])
    func redirects(status: String) async throws {
      try await writePicture("a.jpg")
      let (objects, elsewhere) = (Objects(), Objects())
      let other = try server(elsewhere, "200 OK")
      let http = try server(objects, status, fields: "Location: \(other.url("/a.jpg"))")
      try await withWorker(http, "--put-to", "127.0.0.1:\(other.port)") { submit in
        let (result, jobs) = try await submit(["a.jpg", "--to", http.url("/{name}.jpg")])
        #expect(result.status == 65 && objects.count == 1 && other.connectionCount == 0)
        #expect(jobs.first?.reason?.contains("answered \(status.prefix(3)) to PUT") == true, "\(jobs)")
      }
      other.stop()
    }

    /// A server that answers each PUT with these bytes alone.
    private func server(_ received: Objects, hangingAfter answer: String) throws -> HTTPTestServer {
      try HTTPTestServer { peer in
        guard let request = peer.request() else { return }
        let bytes = peer.body(of: request)
        received.puts.withLock { $0.append((request.target, request.fields["content-type"], bytes)) }
        peer.send(answer)
        peer.waitForEnd()
      }
    }

    /// Both servers at once, so that the time limit is waited for once.
    @Test("a PUT without a complete response fails after the worker's time limit")
    func hangs() async throws {
      try await writePicture("a.jpg")
      let (silent, halting) = (Objects(), Objects())
      let http = try server(silent, hangingAfter: "")
      let other = try server(halting, hangingAfter: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12")
      try await withWorker(
        http, "--put-to", "127.0.0.1:\(other.port)", "--concurrency", "2", "--timeout", "5"
      ) { submit in
        async let one = submit(["a.jpg", "--to", http.url("/{name}.jpg"), "--attempts", "1"])
        async let two = submit(["a.jpg", "--to", other.url("/{name}.jpg"), "--attempts", "1"])
        for ((result, jobs), received) in [(try await one, silent), (try await two, halting)] {
          #expect(result.status == 65)
          #expect(jobs.map(\.deliveries) == [1])
          #expect(jobs.first?.reason?.contains("did not accept it within 5.0 s") == true, "\(jobs)")
          // The server had all of the picture, and was asked once.
          let puts = received.puts.withLock { $0 }
          #expect(puts.map(\.target) == ["/a.jpg"] && puts.first?.bytes.starts(with: [0xFF, 0xD8]) == true)
          #expect(puts.first?.bytes.suffix(2) == [0xFF, 0xD9])
        }
        // The connections are given up.
        await until { http.openCount == 0 && other.openCount == 0 }
      }
      other.stop()
    }
  }
}
