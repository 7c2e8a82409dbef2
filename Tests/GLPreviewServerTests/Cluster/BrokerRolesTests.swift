// The users of a nats-server as docs/cluster.md has them: what each may do, and no more.
import FoundationEssentials
import GLPreview
import Logging
import NATS
import Testing

@testable import GLPreviewServer

@Suite("Users of the broker", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct BrokerRolesTests {
  /// Two nodes, of which `shed` alone has the camera `yard`, and a program that looks at pictures.
  private static let users = #"""
    jetstream { store_dir: "FOLDER/js" }
    authorization { users: [
      {user: "shed", password: "shed", permissions: {
        publish: { allow: [
          "glp.snap.>", "glp.cmd.>", "glp.ev.shed.>",
          "$KV.glp.n.shed", "$KV.glp.l.shed", "$KV.glp.c.>",
          "$JS.API.STREAM.CREATE.KV_glp", "$JS.API.STREAM.INFO.KV_glp", "$JS.API.STREAM.MSG.GET.KV_glp",
          "$JS.API.DIRECT.GET.KV_glp.>", "$JS.API.CONSUMER.CREATE.KV_glp", "$JS.API.CONSUMER.DELETE.KV_glp.>"
        ] }
        subscribe: ["glp.snap.>", "glp.cmd.>", "glp.ev.>", "_INBOX.>"]
        allow_responses: { max: 1, expires: "90s" }
      }}
      {user: "house", password: "house", permissions: {
        publish: {
          allow: [
            "glp.snap.>", "glp.cmd.>", "glp.ev.house.>",
            "$KV.glp.n.house", "$KV.glp.l.house", "$KV.glp.c.>",
            "$JS.API.STREAM.CREATE.KV_glp", "$JS.API.STREAM.INFO.KV_glp", "$JS.API.STREAM.MSG.GET.KV_glp",
            "$JS.API.DIRECT.GET.KV_glp.>", "$JS.API.CONSUMER.CREATE.KV_glp", "$JS.API.CONSUMER.DELETE.KV_glp.>"
          ]
          deny: ["$KV.glp.c.yard"]
        }
        subscribe: {
          allow: ["glp.snap.>", "glp.cmd.>", "glp.ev.>", "_INBOX.>"]
          deny: ["glp.snap.yard", "glp.cmd.yard"]
        }
        allow_responses: { max: 1, expires: "90s" }
      }}
      {user: "reader", password: "reader", permissions: {
        publish: ["glp.snap.>"], subscribe: ["_INBOX.reader.>"]
      }}
    ] }
    """#

  private static func node(_ name: String, _ camera: String, _ server: NATSServer) -> ServerConfiguration {
    var camera = CameraConfiguration(name: camera, source: "pattern:smpte,size=64x36")
    camera.home = .node(name)
    return ServerConfiguration(cameras: [camera]).sharing(as: name, server, user: name)
  }

  private static func client(_ user: String, of server: NATSServer) async throws -> NATSClient {
    var configuration = NATSConfiguration(servers: [NATSServerAddress(host: "127.0.0.1", port: server.port)])
    configuration.authentication = .user(user, password: user)
    return try await NATSClient.connect(
      configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Whether the server lets a client publish.
  private static func mayPublish(_ subject: String, _ client: NATSClient) async throws -> Bool {
    let events = client.events()
    try client.publish(subject)
    // A sign that comes after what the server says of the first.
    try client.publish("after.\(subject)")
    for await case .permissionViolation(let text) in events {
      if text.contains("\"\(subject)\"") { return false }
      if text.contains("\"after.\(subject)\"") { return true }
    }
    throw CancellationError()
  }

  private static func maySubscribe(_ pattern: String, _ client: NATSClient) async throws -> Bool {
    let subscription = try client.subscribe(pattern)
    try await client.flush()
    do throws(NATSError) {
      _ = try await subscription.next(within: .milliseconds(1))
      return true
    } catch {
      if case .permission = error { return false }
      return true
    }
  }

  @Test(
    "nodes share cameras with these permissions; nobody takes a fixed camera, or tells events, in another's name"
  )
  func roles() async throws {
    let server = try await NATSServer(Self.users)
    try await withService(Self.node("shed", "yard", server)) { shed in
      try await withService(Self.node("house", "door", server)) { house in
        for service in [shed, house] {
          try await until { try await Set(service.nodes().cameras.map(\.name)) == ["yard", "door"] }
        }
        let picture = "/cameras/yard/main.jpg"
        await until { (try? await house.get(picture).status) == 200 }
        await until { (try? await shed.answered("done")) ?? 0 > 0 }
        #expect(try await shed.get("/metrics").text.contains("glpreview_lease_store_up 1"))

        let reader = try await Self.client("reader", of: server)
        let answers = try reader.subscribe("_INBOX.reader.1")
        try reader.publish("glp.snap.yard", headers: ["Target": picture], reply: "_INBOX.reader.1")
        #expect(try await answers.next()?.headers["Status"] == "200")
        for subject in ["glp.cmd.yard", "glp.ev.shed.view", "$KV.glp.c.yard", "_INBOX.x"] {
          #expect(try await !Self.mayPublish(subject, reader), "\(subject)")
        }
        for pattern in ["glp.>", "_INBOX.>", "glp.snap.yard"] {
          #expect(try await !Self.maySubscribe(pattern, reader), "\(pattern)")
        }
        await reader.close()

        let other = try await Self.client("house", of: server)
        #expect(try await Self.mayPublish("glp.ev.house.x", other))
        for subject in [
          "glp.ev.shed.view", "$KV.glp.n.shed", "$KV.glp.c.yard", "$JS.API.STREAM.DELETE.KV_glp",
        ] {
          #expect(try await !Self.mayPublish(subject, other), "\(subject)")
        }
        #expect(try await !Self.maySubscribe("glp.snap.yard", other))
        await other.close()
      }
    }
  }
}
