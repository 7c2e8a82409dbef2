// What the service says of itself, in Recorded/messages.txt: events to browsers, the webhook, MQTT and other nodes, as they
// are received from a node whose cameras see motion, are recorded, lost and changed.
import AsyncHTTPClient
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import NATS
import Synchronization
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "The service's messages",
  .enabled(
    if: hasEncoder && hasWebRTC && NATSServer.isInstalled && Mosquitto.isInstalled,
    "libraries or programs are missing: scripts/setup"),
  .timeLimit(.minutes(15)))
struct MessageFaceTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Recorded/messages.txt")

  /// A node of two cameras: `yard` sees what moves, `gate` is lost after its first picture.
  private static func configuration(_ folder: ConfigurationFolder, _ nats: Int, _ mqtt: Int, _ webhook: Int)
    throws -> ServerConfiguration
  {
    try folder.load(
      """
      cameras:
        yard:
          source: pattern:smpte
          motion: {zones: ["all=0,0,1,1"], rate: 30, cool-down: 300ms}
          record: {when: trigger, after: 1s}
          lens: fisheye
          views: {main: {}, pan: {yaw: 0, size: 32x18}}
        gate: {source: pattern:smpte, replay: 1h, required: false}
      recordings: {path: \(folder.path)/recordings}
      snapshots: {webhook: {url: "http://127.0.0.1:\(webhook)/", secret: hush}}
      mqtt: {server: "mqtt://127.0.0.1:\(mqtt)"}
      cluster: {name: shed, nats: {servers: ["nats://127.0.0.1:\(nats)"]}}
      """
    ).configuration
  }

  @Test("messages.txt records the members of events and of webhook, MQTT and NATS messages")
  func messages() async throws {
    let nats = try await NATSServer(#"jetstream { store_dir: "FOLDER/js" }"#)
    let (mqtt, heard, folder) = (try await Mosquitto(), HeardMessages(), try ConfigurationFolder())
    let router = Router(context: ServiceContext.self)
    router.post("/") { request, _ in
      heard.addWebhook(request.headers, try await request.body.collect(upTo: 1 << 20))
      return Response(status: .noContent)
    }
    try await withServer(of: router) { receiver in
      let configuration = try Self.configuration(folder, nats.port, mqtt.port, receiver.port)
      try await withClient(of: nats) { client in
        let all = try client.subscribe(">", buffer: .init(messages: 1 << 16, bytes: 1 << 28))
        try await client.flush()
        let listening = Task { for try await message in all { heard.addNATS(message) } }
        let subscriber = try mqtt.subscribe()
        let (yard, gate) = (MovingCamera(), CountingCamera())
        try await withService(
          configuration,
          makeSource: {
            $1.hasPrefix("yard") ? yard.source(named: $1, $2) : gate.source(named: $1, $2)
          }
        ) { shed in
          let edge = ServerConfiguration(cameras: []).sharing(as: "edge", nats)
          try await withService(edge) { edge in
            try await until { try await edge.nodes().cameras.count { $0.node == "shed" } == 2 }
            try await withEvents(of: [shed, edge]) { ears in
              let play = Play(
                shed: shed, edge: edge, client: client, yard: yard, gate: gate, mqtt: mqtt,
                subscriber: subscriber,
                heard: heard, ears: ears)
              try await play.all(configuration)
            }
            // How far nodes come at their end is another each time.
            listening.cancel()
            _ = await listening.result
          }
          let bucket = try await client.request("$JS.API.STREAM.INFO.KV_glp")
          heard.addBucket(RecordedFace.configuration(in: bucket.payload))
        }
        let late = try mqtt.subscribe()
        await late.hears("glpreview/shed/status", saying: "offline")
        // What is retained comes before it.
        try await mqtt.publish("done", "done")
        await late.hears("done")
        await subscriber.hears("done")
        heard.addMQTT(late.messages)
        heard.addMQTT(subscriber.messages)
      }
    }
    try RecordedFace.compare(heard.lines, with: Self.file)
  }

  /// All that happens, each after the one before was heard everywhere.
  private struct Play {
    let shed: RunningService
    let edge: RunningService
    let client: NATSClient
    let yard: MovingCamera
    let gate: CountingCamera
    let mqtt: Mosquitto
    let subscriber: Mosquitto.Subscriber
    let heard: HeardMessages
    let ears: [HeardEvents]

    /// Returns when lines have come; what was heard meanwhile is among them.
    private func hears(_ lines: String...) async {
      await until {
        for (way, ear) in zip(["own", "relayed"], ears) { heard.addEvents(ear.all, way) }
        // Its pictures take long to read.
        if lines.contains(where: { $0.hasPrefix("mqtt ") }) { heard.addMQTT(subscriber.messages) }
        let all = Set(heard.lines)
        return lines.allSatisfy { line in all.contains { $0.hasPrefix(line) } }
      }
    }

    func all(_ configuration: ServerConfiguration) async throws {
      try await lose()
      try await move()
      try await take()
      try await change(configuration)
      try await pan()
      try await ask()
    }

    private func lose() async throws {
      // A picture of a second ago is none for MQTT.
      try await until {
        try gate.give(100)
        heard.addMQTT(subscriber.messages)
        return ["yard", "gate"].allSatisfy { heard.lines.contains("mqtt glpreview/\($0)/picture: JPEG") }
      }
      gate.lose()
      await hears(
        "own camera .reason: string", "relayed camera .reason: string", "relayed camera .replay.from",
        "mqtt glpreview/gate/state .reason", "nats $KV.glp.l.shed .cameras[].reason")
    }

    private func pan() async throws {
      let path = "/api/cameras/yard/views/pan/move"
      #expect(try await shed.send("POST", path, body: #"{"to": {"yaw": 20}, "over": "1ms"}"#).status == 200)
      await hears("own move .from.yaw", "relayed move .from.yaw", "mqtt glpreview/events/move")
    }

    private func move() async throws {
      let path = "/api/cameras/yard/motion"
      #expect(try await shed.send("POST", path, body: #"{"duration": 3600, "label": "cat"}"#).status == 200)
      await hears("relayed motion motion-started .label", "mqtt glpreview/yard/motion: ON")
      #expect(try await shed.send("DELETE", path).status == 200)
      await hears("relayed motion motion-ended .label", "mqtt glpreview/yard/motion: OFF")
      yard.move(true)
      await hears("relayed motion motion-started .box[]")
      yard.move(false)
      await hears("relayed motion motion-ended .box[]", "webhook motion motion-ended .box[]")
      // Scenes change where light does, which this camera does not know.
      shed.inside.events.motionChanged("yard", .sceneChanged, showsAll: true)
      await hears("relayed motion scene-changed", "webhook motion scene-changed")
    }

    private func take() async throws {
      try await until { try await shed.send("POST", "/api/cameras/yard/recording").status == 202 }
      await hears("own recording ended", "relayed recording ended")
      try await mqtt.publish("glpreview/yard/snapshot", "anything")
      let done = #"glpreview_mqtt_commands_total{result="done"} 1"#
      try await until { try await shed.get("/metrics").text.contains(done) }
      heard.add("mqtt glpreview/yard/snapshot is obeyed")
      await hears("relayed snapshot .snapshot", "webhook snapshot .view", "mqtt glpreview/events/snapshot")
    }

    private func change(_ configuration: ServerConfiguration) async throws {
      let view = "/api/cameras/yard/views/main"
      #expect(try await edge.send("PATCH", view, body: #"{"width": 64}"#).status == 200)
      await hears("relayed view .view: string", "nats $KV.glp.l.shed .cameras[].views[].width")
      // The change takes back the picture that MQTT retains. The next one has to be there when the service ends.
      await subscriber.hears("glpreview/yard/picture") { (try? JPEGProbe($0.payload))?.width == 64 }
      shed.inside.events.rendererChanged(.fails("no renderer"))
      shed.inside.events.rendererChanged(.notNeeded)
      // A schedule would need minutes on a slow machine, and its pictures would replace those that MQTT has.
      let missed: [String: JSONValue?] = [
        "camera": "yard", "schedule": "dusk", "what": "failed", "reason": "lost",
      ]
      shed.inside.events.publish("schedule", missed)
      await hears("relayed schedule failed .reason: string")
      var other = configuration
      other.cameras.indices.forEach { other.cameras[$0].isRequired = true }
      try await shed.inside.apply(other)
      for what in ["configuration", "renderer-fails", "renderer-works"] {
        await hears("relayed service \(what)", "mqtt glpreview/events/service")
      }
    }

    private func ask() async throws {
      func status(_ subject: String, _ fields: NATSHeaders, _ body: String = "") async throws -> String? {
        var headers = fields
        headers["Deadline"] = "600000"
        return try await client.request(subject, Array(body.utf8), headers: headers).headers["Status"]
      }
      let (snap, command) = ("glp.snap.yard", "glp.cmd.yard")
      let picture: NATSHeaders = [
        "Method": "GET", "Target": "/cameras/yard/main.jpg", "Role": "control",
        "If-None-Match": "\"none\"",
      ]
      #expect(try await status(snap, picture) == "200")
      #expect(try await status(snap, ["Target": "/cameras/yard/main.jpg?width=wide"]) == "400")
      let camera: NATSHeaders = [
        "Method": "GET", "Target": "/api/cameras/yard", "If-None-Match": "\"none\"",
      ]
      #expect(try await status(command, camera) == "200")
      let epoch = try #require(shed.inside.node?.epoch(of: "yard"))
      let change: NATSHeaders = [
        "Method": "PATCH", "Target": "/api/cameras/yard/views/main", "Role": "control", "Epoch": "\(epoch)",
        "Content-Type": "application/json",
      ]
      // As it is already: another size would take the picture back that MQTT has.
      #expect(try await status(command, change, #"{"width": 64}"#) == "200")
      await hears("nats _INBOX 200 image/jpeg", "nats _INBOX 400", "nats _INBOX 200 application/json")
      for kind in ServerEvent.types { await hears("nats glp.ev.shed.\(kind)") }
    }
  }
}

/// Lines of all that was received, each once.
private final class HeardMessages: Sendable {
  private let found = Mutex<Set<String>>([])

  var lines: [String] { found.withLock { $0.sorted() } }

  func add(_ line: String) { found.withLock { _ = $0.insert(line) } }

  private func add(_ lines: [String], after start: String) {
    found.withLock { $0.formUnion(lines.map { "\(start) \($0)" }) }
  }

  /// The kind of an event, and what has happened where that is one of several.
  private static func kind(_ event: [String: Any]) -> String {
    [event["type"], event["what"]].compactMap { $0 as? String }.joined(separator: " ")
  }

  func addEvents(_ events: [String], _ way: String) {
    for event in events.compactMap({ RecordedFace.object(Array($0.utf8)) })
    where (event["node"] as? String == "shed") == (way == "relayed") {
      add(RecordedFace.members(event), after: "\(way) \(Self.kind(event))")
    }
  }

  func addWebhook(_ fields: HTTPFields, _ body: ByteBuffer) {
    guard let event = RecordedFace.object(Array(body.readableBytesView)) else {
      return add("webhook: no JSON")
    }
    let ours = fields.filter { !["host", "content-length"].contains($0.name.canonicalName) }
    let kind = event["type"] as? String ?? ""
    add(ours.map { "\($0.name.rawName): \(RecordedFace.withoutNumbers($0.value))" }, after: "webhook \(kind)")
    add(RecordedFace.members(event), after: "webhook \(Self.kind(event))")
  }

  func addMQTT(_ messages: [Mosquitto.Subscriber.Message]) {
    for message in messages where !message.payload.isEmpty && message.topic != "done" {
      let start = "mqtt \(message.topic)"
      if message.isRetained { add("\(start) is retained") }
      if message.payload.starts(with: [0xFF, 0xD8]) {
        add("\(start): JPEG")
      } else if message.topic.hasSuffix("/config"), let object = RecordedFace.object(message.payload) {
        add("\(start): \(RecordedFace.text(object).replacing(PreviewServer.version, with: "VERSION"))")
      } else if RecordedFace.object(message.payload) == nil {
        add("\(start): \(message.text)")
      } else if message.topic.hasPrefix("glpreview/events/") {
        add("\(start): as own")
      } else {
        add(RecordedFace.members(of: message.payload), after: start)
      }
    }
  }

  /// Requests to JetStream and its answers are NATS's own.
  func addNATS(_ message: NATSMessage) {
    var subject = message.subject
    guard !subject.hasPrefix("$JS.") else { return }
    var fields = message.headers.fields
    if subject.hasPrefix("_INBOX.") {
      guard let status = message.headers["Status"] else { return }
      let type = message.headers["Content-Type"].map { " \($0)" } ?? ""
      (subject, fields) = ("_INBOX \(status)\(type)", fields.filter { $0.name != "Status" })
      return add(fields.map(\.name), after: "nats \(subject)")
    }
    let values = fields.map { field in
      "\(field.name): \(field.name == "Id" ? "ID" : RecordedFace.withoutNumbers(field.value))"
    }
    add(values, after: "nats \(subject)")
    if subject.hasPrefix("$KV.") { add(RecordedFace.members(of: message.payload), after: "nats \(subject)") }
  }

  func addBucket(_ lines: [String]) { add(lines, after: "nats KV_glp") }
}
