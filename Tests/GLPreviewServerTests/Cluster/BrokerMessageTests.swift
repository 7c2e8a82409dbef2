// Messages that no node sends, and events, by a real nats-server.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import HTTPTypes
import NATS
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore

@Suite("NATS messages", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct BrokerMessageTests {
  private static let picture = "/cameras/camera/main.jpg"
  private static let view = "/api/cameras/camera/views/main"
  private static let json = ("Content-Type", "application/json")
  /// On a busy machine a picture takes longer than nodes wait that are told nothing.
  private static let patient: NATSHeaders = ["Deadline": "600000"]

  @Test(
    "a NATS subject allows only requests of its kind for its own camera",
    arguments: [
      ("GET", "/cameras/a/main.jpg", "snap"), ("HEAD", "/cameras/a/main.png?width=3", "snap"),
      ("GET", "/api/frame.jpeg?src=a/main&width=3", "snap"), ("GET", "/api/cameras/a", "cmd"),
      ("PATCH", "/api/cameras/a/views/main", "cmd"), ("GET", "/api/cameras/a/controls", "cmd"),
      ("GET", "/cameras/b/main.jpg", nil), ("GET", "/cameras/%61/main.jpg", nil), ("GET", "/metrics", nil),
      ("GET", "/cameras/a/../b/main.jpg", nil), ("GET", "//cameras/a/main.jpg", nil),
      ("GET", "http://h/cameras/a/main.jpg", nil), ("GET", "/cameras/a/main.mjpeg", nil),
      ("GET", "/cameras/a/main.mp4", nil), ("POST", "/cameras/a/main/whep", nil),
      ("GET", "/api/ws?src=a", nil),
      ("GET", "/api/frame.jpeg?src=b", nil), ("GET", "/api/frame.jpeg?src=a&src=b", nil),
      ("GET", "/api/frame.jpeg", nil), ("POST", "/api/cameras/a/snapshots", nil), ("GET", "/api/events", nil),
      ("GET", "/api/cameras/b", nil), ("GET", "/api/cameras", nil), ("POST", "/cameras/a/main.jpg", nil),
      ("OPTIONS", "/api/cameras/a", nil), ("GET", "/cameras/a/main.jpg#x", nil),
      ("GET", "/cameras/a/ma in.jpg", nil),
    ])
  func targets(method: String, target: String, kind: String?) throws {
    let method = try #require(HTTPRequest.Method(rawValue: method))
    #expect(BrokerRequest.kind(of: method, target, about: "a")?.rawValue == kind)
    #expect(BrokerRequest.kind(of: method, target, about: "a.b") == nil)
  }

  @Test("a NATS request for another camera, above its role or with an old epoch is rejected")
  func refusals() async throws {
    let server = try await NATSServer()
    try await withBroker(server, StreamTests.configuration()) { owner, _ in
      try await withClient(of: server) { client async throws in
        func status(_ subject: String, _ headers: [(String, String)], _ body: String = "") async throws
          -> String
        {
          var fields = Self.patient
          for (name, value) in headers { fields.add(value, for: name) }
          return try await client.request(subject, Array(body.utf8), headers: fields).headers["Status"]
            ?? "none"
        }
        let (snap, command) = ("glp.snap.camera", "glp.cmd.camera")
        #expect(try await status(snap, [("Target", Self.picture)]) == "200")
        #expect(try await status(snap, [("Target", Self.picture), ("Role", "king")]) == "200")
        for target in [
          "/cameras/other/main.jpg", "/metrics", "/api/cameras/camera", Self.view, "/cameras/camera/main.mp4",
          "",
        ] {
          #expect(try await status(snap, [("Target", target)]) == "400", "\(target)")
        }
        #expect(try await status(snap, []) == "400")
        let change = [("Method", "PATCH"), ("Target", Self.view), Self.json]
        let body = #"{"width": 64}"#
        #expect(try await status(snap, change, body) == "400")
        for (role, answer) in [("read", "403"), ("king", "403"), ("control", "200")] {
          #expect(try await status(command, change + [("Role", role)], body) == answer, "\(role)")
        }
        for (epoch, answer) in [("5", "200"), ("4", "409"), ("six", "400"), ("-5", "400")] {
          #expect(try await status(command, change + [("Epoch", epoch)], body) == answer, "\(epoch)")
        }
        #expect(try await status(command, [("Method", "PATCH"), ("Target", Self.view)], body) == "415")
        #expect(try await status(command, [("Method", "GE T"), ("Target", Self.picture)]) == "400")
        #expect(
          try await status(
            command, [("Target", Self.picture), ("If-None-Match", String(repeating: "x", count: 2000))])
            == "400")
        #expect(try await status(command, [("Target", Self.picture)]) == "200")
        await #expect(throws: NATSError.noResponders) { try await client.request("glp.snap.other") }
        #expect(try await owner.get(Self.picture).status == 200)
      }
    }
  }

  @Test("a NATS request gets no reply if its reply subject, deadline or size is invalid")
  func replies() async throws {
    let server = try await NATSServer()
    try await withBroker(server, StreamTests.configuration()) { owner, _ in
      try await withClient(of: server) { client async throws in
        let elsewhere = try client.subscribe("elsewhere")
        let late = try client.subscribe("_INBOX.late")
        var headers = Self.patient
        headers["Target"] = Self.picture
        try client.publish("glp.snap.camera", headers: headers, reply: "elsewhere")
        try client.publish("glp.snap.camera", headers: headers)
        try client.publish(
          "glp.snap.camera", headers: ["Target": Self.picture, "Deadline": "0"], reply: "_INBOX.late")
        try client.publish(
          "glp.snap.camera", [UInt8](repeating: 0, count: 900_000), headers: headers, reply: "_INBOX.late")
        // These were read before this one.
        #expect(try await client.request("glp.snap.camera", headers: headers).headers["Status"] == "200")
        await until { (try? await owner.answered("dropped")) == 1 }
        await until { (try? await owner.answered("refused")) == 3 }
        try await client.flush(timeout: allTheTimeThereIs)
        #expect(elsewhere.waiting == 0 && late.waiting == 0)
      }
    }
  }

  @Test(
    "all NATS programs share one rate limit, and a peer's HTTP requests have their own")
  func rates() async throws {
    let server = try await NATSServer()
    var owner = StreamTests.configuration()
    // Two at once, and the next in a quarter of an hour.
    owner.limits.requestsPerSecond = 0.001
    try await withBroker(server, owner) { _, edge in
      try await withClient(of: server) { client async throws in
        var headers = Self.patient
        headers["Target"] = Self.picture
        var answers: [String?] = []
        for node in ["edge", "other", nil] {
          headers["Node"] = node
          answers.append(try await client.request("glp.snap.camera", headers: headers).headers["Status"])
        }
        #expect(answers == ["200", "200", "429"])
        #expect(try await edge.get(Self.picture).status == 200)
      }
    }
  }

  // MARK: Events

  /// The events of a service until there are `count`, as their data.
  private static func events(
    _ service: RunningService, until isEnough: ([String]) -> Bool, after start: () async throws -> Void
  ) async throws -> [String] {
    let body = try await service.openStream("/api/events?types=view,service")
    var text = ""
    var isStarted = false
    for try await part in body {
      text += String(buffer: part)
      if !isStarted {
        try await start()
        isStarted = true
      }
      let events = text.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map {
        String($0.dropFirst(6))
      }
      if isEnough(events) { return events }
    }
    return []
  }

  @Test(
    "a peer's NATS events are delivered once, with its name; invalid and excess ones are dropped")
  func events() async throws {
    let server = try await NATSServer()
    try await withBroker(server, StreamTests.configuration()) { owner, edge in
      try await withClient(of: server) { client async throws in
        let heard = try await Self.events(edge) {
          $0.contains { $0.contains("last") }
        } after: {
          // Subscribed since the start: what is flushed there has come here.
          try await edge.inside.broker?.client.flush(timeout: allTheTimeThereIs)
          let views = try edge.inside.events.log.subscribe(EventLog.Filter(types: ["view"]))
          for width in [64, 32] {
            #expect(try await owner.send("PATCH", Self.view, body: "{\"width\": \(width)}").status == 200)
          }
          // The owner tells them behind its answers.
          for _ in 0..<2 { _ = await views.next(within: allTheTimeThereIs) }
          func publish(_ subject: String, _ text: String) throws {
            try client.publish(subject, Array(text.utf8))
          }
          try publish("glp.ev.shed.view", #"{"type":"view","camera":"c","view":"../x"}"#)
          try publish("glp.ev.shed.view", #"{"type":"service","what":"no"}"#)
          try publish("glp.ev.shed.view", "no JSON")
          try publish("glp.ev.edge.view", #"{"type":"view","camera":"mine","view":"v"}"#)
          try publish("glp.ev.shed", #"{"type":"view","camera":"c","view":"v"}"#)
          let reason = "can't open rtsp://u:5ECRET@cam/1"
          try publish(
            "glp.ev.shed.service", "{\"type\":\"service\",\"what\":\"x\",\"reason\":\"\(reason)\",\"more\":1}"
          )
          for _ in 0..<1000 { try publish("glp.ev.mad.service", #"{"type":"service","what":"mad"}"#) }
          try publish("glp.ev.yard.service", #"{"type":"service","what":"last"}"#)
          try await client.flush(timeout: allTheTimeThereIs)
        }
        let views = heard.filter { $0.contains(#""type":"view""#) }
        #expect(
          views
            == Array(repeating: #"{"camera":"camera","node":"owner","type":"view","view":"main"}"#, count: 2))
        let shed = heard.filter { $0.contains(#""node":"shed""#) }
        #expect(shed.count == 1 && !shed[0].contains("5ECRET") && !shed[0].contains("more"), "\(shed)")
        #expect(heard.count { $0.contains("mad") } < 900)
        #expect(!heard.contains { $0.contains("mine") })
      }
    }
  }

  @Test("EventRates allows each node 100 events at once and 20 per second")
  func rates() {
    var rates = EventRates()
    let now = CaptureInstant.start
    func told(of node: String, at time: CaptureInstant) -> Int {
      var count = 0
      for _ in 0..<200 where rates.allows(node, at: time) { count += 1 }
      return count
    }
    #expect(told(of: "a", at: now) == 100)
    #expect(told(of: "b", at: now) == 100)
    #expect(told(of: "a", at: now + .seconds(1)) == 20)
  }

  @Test("changes of a node's views have a rate limit of their own", arguments: ServerEvent.types)
  func rateKey(type: String) throws {
    let event = try #require(
      RelayedEvent(json: Array(#"{"type":"\#(type)","camera":"door","what":"x"}"#.utf8)), "\(type)")
    #expect(event.rateKey(of: "a") == (["view", "move"].contains(type) ? "a views" : "a"))
  }
}
