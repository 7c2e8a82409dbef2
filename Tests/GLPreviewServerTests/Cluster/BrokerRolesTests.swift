// The users of a nats-server as docs/nats.md has them: what each may do, and no more.
import FoundationEssentials
import GLPreview
import Logging
import NATS
import TestSupport
import Testing

@testable import Cluster
@testable import ServiceFoundation

@Suite("NATS user permissions", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct BrokerRolesTests {
  /// Two nodes, of which `shed` alone has the camera `yard`, and a program that looks at pictures.
  private static let users = #"""
    jetstream { store_dir: "FOLDER/js" }
    authorization { users: [
      {user: "shed", password: "shed", permissions: {
        publish: { allow: [
          "glp.ev.shed.>",
          "$KV.glp.n.shed", "$KV.glp.l.shed", "$KV.glp.c.>",
          "$JS.API.STREAM.CREATE.KV_glp", "$JS.API.STREAM.INFO.KV_glp", "$JS.API.STREAM.MSG.GET.KV_glp",
          "$JS.API.DIRECT.GET.KV_glp.>", "$JS.API.CONSUMER.CREATE.KV_glp", "$JS.API.CONSUMER.DELETE.KV_glp.>"
        ] }
        subscribe: ["glp.snap.>", "glp.cmd.>", "glp.ev.>", "_INBOX.shed.>"]
        allow_responses: { max: 1, expires: "90s" }
      }}
      {user: "house", password: "house", permissions: {
        publish: {
          allow: [
            "glp.ev.house.>",
            "$KV.glp.n.house", "$KV.glp.l.house", "$KV.glp.c.>",
            "$JS.API.STREAM.CREATE.KV_glp", "$JS.API.STREAM.INFO.KV_glp", "$JS.API.STREAM.MSG.GET.KV_glp",
            "$JS.API.DIRECT.GET.KV_glp.>", "$JS.API.CONSUMER.CREATE.KV_glp", "$JS.API.CONSUMER.DELETE.KV_glp.>"
          ]
          deny: ["$KV.glp.c.yard"]
        }
        subscribe: {
          allow: ["glp.snap.>", "glp.cmd.>", "glp.ev.>", "_INBOX.house.>"]
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
    (configuration.requestTimeout, configuration.connectTimeout) = (allTheTimeThereIs, allTheTimeThereIs)
    return try await NATSClient.connect(
      configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test(
    "nodes share cameras with the documented permissions and can't act for another node"
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
        try await until { try await shed.get("/metrics").text.contains("glpreview_lease_store_up 1") }

        let reader = try await Self.client("reader", of: server)
        let answers = try reader.subscribe("_INBOX.reader.1")
        try reader.publish(
          "glp.snap.yard", headers: ["Target": picture, "Deadline": "600000"], reply: "_INBOX.reader.1")
        #expect(try await answers.next()?.headers["Status"] == "200")
        for subject in ["glp.cmd.yard", "glp.ev.shed.view", "$KV.glp.c.yard", "_INBOX.x"] {
          #expect(try await !reader.mayPublish(subject), "\(subject)")
        }
        for pattern in ["glp.>", "_INBOX.>", "glp.snap.yard"] {
          #expect(try await !reader.maySubscribe(pattern), "\(pattern)")
        }
        await reader.close()

        let other = try await Self.client("house", of: server)
        #expect(try await other.mayPublish("glp.ev.house.x"))
        for subject in [
          "glp.ev.shed.view", "$KV.glp.n.shed", "$KV.glp.c.yard", "$JS.API.STREAM.DELETE.KV_glp",
          "glp.snap.yard", "glp.cmd.yard",
        ] {
          #expect(try await !other.mayPublish(subject), "\(subject)")
        }
        for pattern in ["glp.snap.yard", "_INBOX.>", "_INBOX.shed.>"] {
          #expect(try await !other.maySubscribe(pattern), "\(pattern)")
        }
        await other.close()
      }
    }
  }

  @Test(
    "a NATS server that verifies certificates accepts a node with one and no node without",
    .enabled(if: Certificates.openssl != nil, "needs openssl"))
  func certificates() async throws {
    let files = try await Certificates(in: NATSServer.makeFolder())
    defer { try? FileManager.default.removeItem(at: files.folder) }
    let server = try await NATSServer(
      """
      tls { cert_file: "\(files.server)", key_file: "\(files.serverKey)", ca_file: "\(files.authority)", verify: true }
      """)
    var configuration = ServerConfiguration(cameras: []).sharing(as: "edge", server)
    configuration.cluster.broker?.authorities = files.authority
    let records = LogRecords()
    try await withService(configuration, logger: records.logger) { edge in
      await until { records.messages.contains("NATS server lost") }
      #expect(edge.inside.broker?.isConnected == false)
    }
    configuration.cluster.broker?.certificate = files.client
    configuration.cluster.broker?.key = files.clientKey
    try await withService(configuration) { edge in await until { edge.inside.broker?.isConnected == true } }
  }
}
