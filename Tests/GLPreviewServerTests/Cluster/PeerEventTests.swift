// Events of peers, over HTTP: each once, of its own node only, and within bounds.
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import NATS
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Events of peers", .timeLimit(.minutes(15)))
struct PeerEventTests {
  private static func node(_ camera: String, _ name: String, peers: [String] = []) -> ServerConfiguration {
    var configuration = ServerConfiguration(
      cameras: [CameraConfiguration(name: camera, source: StreamTests.pattern)])
    configuration.cluster = ClusterConfiguration(name: name, peers: peers)
    return configuration
  }

  private static func change(_ camera: String, at node: RunningService, _ width: Int) async throws {
    let path = "/api/cameras/\(camera)/views/main"
    #expect(try await node.send("PATCH", path, body: "{\"width\": \(width)}").status == 200)
  }

  /// How many events of others it has met, by result; `of` is `peer` or `broker`.
  private static func counts(_ way: String = "peer", at node: RunningService) async throws -> [String: Int] {
    let start = "glpreview_\(way)_events_total{result=\""
    let lines = try await node.get("/metrics").text.split(separator: "\n").filter { $0.hasPrefix(start) }
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        (String(line.dropFirst(start.count).prefix { $0 != "\"" }), Int(line.split(separator: " ")[1]) ?? 0)
      })
  }

  // MARK: Real services

  @Test("two nodes that peer with each other deliver each event once, and list the changed view")
  func two() async throws {
    var seldom = Self.node("a", "A").patient()
    seldom.timeouts.peerPoll = allTheTimeThereIs
    try await withService(seldom) { a in
      try await withService(Self.node("b", "B", peers: [a.base])) { b in
        try await a.inside.apply(Self.node("a", "A", peers: [b.base]))
        for node in [a, b] { await until { node.inside.events.log.subscriberCount == 1 } }
        try await withEvents(of: [a, b]) { ears in
          try await Self.change("b", at: b, 64)
          await until { ears[0].told("view").count == 1 }
          #expect(try await a.get("/api/cameras").text.contains("\"width\":64"))
          for width in [32, 48] { try await Self.change("a", at: a, width) }
          await until { ears[1].told("view").count == 3 }
          try await Self.change("b", at: a, 32)
          await until { ears[0].told("view").count == 4 }
          #expect(ears[0].told("view") == ["b@B", "a@", "a@", "b@B"])
          #expect(ears[1].told("view") == ["b@", "a@A", "a@A"] + ["b@"])
        }
      }
    }
  }

  @Test("three mutual peers deliver each event once; in a ring a node gets its own and its peer's")
  func three() async throws {
    try await withService(Self.node("a", "A")) { a in
      try await withService(Self.node("b", "B")) { b in
        try await withService(Self.node("c", "C")) { c in
          let nodes = [(a, "a", "A"), (b, "b", "B"), (c, "c", "C")]
          for (node, camera, name) in nodes {
            let others = nodes.map(\.0.base).filter { $0 != node.base }
            try await node.inside.apply(Self.node(camera, name, peers: others))
          }
          for (node, _, _) in nodes { await until { node.inside.events.log.subscriberCount == 2 } }
          try await withEvents(of: [a, b, c]) { ears in
            for round in 1...2 {
              for (node, camera, _) in nodes { try await Self.change(camera, at: node, 16 * round) }
              for ear in ears { await until { ear.told("view").count >= 3 * round } }
            }
            for (ear, (_, own, _)) in zip(ears, nodes) {
              let all = nodes.flatMap { [$0.1 == own ? "\($0.1)@" : "\($0.1)@\($0.2)"] }
              #expect(ear.told("view").sorted() == (all + all).sorted())
            }
          }

          for (index, (node, camera, name)) in nodes.enumerated() {
            let next = nodes[(index + 1) % 3].0.base
            try await node.inside.apply(Self.node(camera, name, peers: [next]))
          }
          for (node, _, _) in nodes { await until { node.inside.events.log.subscriberCount == 1 } }
          try await withEvents(of: [a, b, c]) { ears in
            for (node, camera, _) in nodes { try await Self.change(camera, at: node, 64) }
            for (node, camera, _) in nodes { try await Self.change(camera, at: node, 48) }
            for ear in ears { await until { ear.told("view").count >= 4 } }
            #expect(ears[0].told("view").sorted() == ["a@", "a@", "b@B", "b@B"])
            #expect(ears[1].told("view").sorted() == ["b@", "b@", "c@C", "c@C"])
            #expect(ears[2].told("view").sorted() == ["a@A", "a@A", "c@", "c@"])
          }
        }
      }
    }
  }

  @Test("an own-only subscription skips relayed events, and each event ID is relayed once per node")
  func hop() async throws {
    let log = EventLog(epoch: "e")
    let relayed = try #require(RelayedEvent(json: Array(#"{"type":"service","what":"x"}"#.utf8)))
    log.publish(type: "view", data: Array("1".utf8))
    #expect(log.relay(relayed, EventID("f-1"), from: "B"))
    log.publish(type: "view", data: Array("3".utf8))
    let (all, own) = (try log.subscribe(after: ""), try log.subscribe(after: "", .init(isOwnOnly: true)))
    func numbers(_ subscription: EventSubscription) async -> [Int] {
      var numbers: [Int] = []
      while case .event(let event) = await subscription.next(within: .zero) {
        numbers.append(event.id.number)
      }
      return numbers
    }
    #expect(await numbers(all) == [1, 2, 3])
    #expect(await numbers(own) == [1, 3])
    #expect(!log.relay(relayed, EventID("f-1"), from: "B"))
    #expect(log.relay(relayed, EventID("f-1"), from: "C") && log.relay(relayed, EventID("g-1"), from: "B"))
    #expect(log.relay(relayed, nil, from: "B") && log.relay(relayed, nil, from: "B"))
    #expect(RelayedEvent(json: relayed.json(from: "B")) == nil)
  }

  @Test(
    "an event that arrives over NATS and over HTTP is delivered once", .enabled(if: NATSServer.isInstalled))
  func both() async throws {
    let server = try await NATSServer()
    try await withBroker(server, StreamTests.configuration()) { owner, edge in
      var listing = ServerConfiguration(cameras: []).sharing(as: "edge", server)
      listing.cluster.peers = [owner.base]
      try await edge.inside.apply(listing)
      await until { owner.inside.events.log.subscriberCount == 1 }
      try await edge.inside.broker?.client.flush(timeout: allTheTimeThereIs)
      try await withEvents(of: [edge]) { ears in
        for width in [64, 32, 48] { try await Self.change("camera", at: owner, width) }
        await until { ears[0].told("view").count >= 3 }
        // Each has come twice.
        var count = 0
        while count < 6 {
          count = 0
          for way in ["peer", "broker"] {
            for (result, number) in try await Self.counts(way, at: edge) where result != "failed" {
              count += number
            }
          }
        }
        #expect(ears[0].told("view") == Array(repeating: "camera@owner", count: 3))
      }
    }
  }

  // MARK: Peers with faults

  /// A log that nodes may read, or not.
  private struct Life: Sendable {
    var log = EventLog(epoch: "e")
    var isAway = false
    var readers: [EventSubscription] = []
    /// What readers came back with.
    var places: [String] = []
  }

  @Test(
    "a peer's events resume after the last event ID when it reconnects or has restarted")
  func comesBack() async throws {
    let life = Mutex(Life())
    @Sendable func publish(_ views: String...) {
      for view in views {
        let data = "{\"type\":\"view\",\"camera\":\"door\",\"view\":\"\(view)\"}"
        life.withLock { $0.log }.publish(type: "view", data: Array(data.utf8))
      }
    }
    /// The connection ends, and others are refused while `meanwhile`.
    @Sendable func interrupt(_ edge: RunningService, _ meanwhile: () -> Void) async {
      life.withLock { $0.isAway = true }
      await until { edge.inside.peers.cluster.peers.first?.state == .lost }
      for reader in life.withLock({ $0.readers }) { reader.end() }
      meanwhile()
      life.withLock { $0.isAway = false }
    }
    try await withFakePeer { peer, request in
      guard !life.withLock({ $0.isAway }) else { throw Problem(.serviceUnavailable, "away") }
      guard request.uri.path == "/api/events" else { return PeerFaultTests.listing }
      #expect(request.isFromPeer)
      let lastID = request.headers[named: "Last-Event-ID"]
      let reader = try life.withLock { life in
        guard !life.isAway else { throw Problem(.serviceUnavailable, "away") }
        life.places.append(lastID ?? "new")
        let reader = try life.log.subscribe(after: lastID)
        life.readers.append(reader)
        return reader
      }
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: "id: \(reader.lastID)\n\n"))
          while case .event(let event) = await reader.next(within: allTheTimeThereIs) {
            try await writer.write(event.text)
          }
          try await writer.finish(nil)
        })
    } _: { address, peer in
      try await withService(edgeConfiguration(of: address)) { edge in
        func views(_ ear: HeardEvents) -> [String] {
          // The node's own events, as of its renderer, come when they come.
          ear.all.filter { $0.contains("\"view\":\"") }
            .compactMap { $0.split(separator: "\"view\":\"").last.map { String($0.prefix(2)) } }
        }
        await until { life.withLock { $0.log }.subscriberCount == 1 }
        try await withEvents(of: [edge]) { ears in
          await interrupt(edge) { publish("v1") }
          await until { views(ears[0]).count == 1 }
          publish("v2", "v3")
          await until { views(ears[0]).count == 3 }
          await interrupt(edge) { publish("v4", "v5") }
          publish("v6")
          await until { views(ears[0]).count >= 6 }
          await interrupt(edge) {
            life.withLock { $0.log = EventLog(epoch: "f") }
            publish("v7")
          }
          await until { views(ears[0]).count >= 7 }
          #expect(views(ears[0]) == (1...7).map { "v\($0)" })
          #expect(life.withLock { $0.places } == ["new", "e-0", "e-3", "e-6"])
        }
        // Nobody comes back after this: a reader that is not ended would be waited for.
        let readers = life.withLock { life in
          life.isAway = true
          return life.readers
        }
        for reader in readers { reader.end() }
      }
    }
  }

  @Test("a peer's events are dropped if invalid, oversized, too many, or of cameras it does not own")
  func hostile() async throws {
    func event(_ type: String, _ data: String) -> String { "event: \(type)\ndata: \(data)\n\n" }
    let fine = #"{"type":"view","camera":"door","view":"v"}"#
    let unreadable = [
      event("view", #"{"type":"view","camera":"mine","view":"v"}"#),
      event("view", #"{"type":"view","camera":"gate","view":"v"}"#),
      event("view", #"{"type":"view","camera":"../x","view":"v"}"#),
      event("view", #"{"type":"view","camera":"door","view":"v","node":"edge"}"#),
      event("camera", fine), event("view", "no JSON"), event("view", String(repeating: "x", count: 40_000)),
      "data: \(String(repeating: "y", count: 20_000))\ndata: \(String(repeating: "y", count: 20_000))\n\n",
    ]
    let reason = #"{"type":"service","what":"x","reason":"can't open rtsp://u:5ECRET@cam/1"}"#
    let flood = String(repeating: event("service", #"{"type":"service","what":"mad"}"#), count: 1000)
    let text =
      "retry: 1\n\n" + unreadable.joined() + event("lost", #"{"events":3}"#) + event("view", fine)
      + event("service", reason) + flood + "data: " + String(repeating: "z", count: 1 << 20)
    try await withFakePeer { peer, request in
      guard request.uri.path == "/api/events" else { return PeerFaultTests.listing }
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: text))
          try await peer.hangs()
        })
    } _: { address, peer in
      try await withService(Self.node("gate", "B")) { other in
        let configuration = Self.node("mine", "edge", peers: [other.base])
        try await withService(configuration) { [configuration] edge in
          var configuration = configuration
          await until { other.inside.events.log.subscriberCount == 1 }
          configuration.cluster.peers.append(address)
          try await withEvents(of: [edge]) { ears in
            try await edge.inside.apply(configuration)
            // The other node's are among them.
            var counts: [String: Int] = [:]
            while counts["done", default: 0] + counts["dropped", default: 0] < 1002 {
              counts = try await Self.counts(at: edge)
            }
            #expect(counts["failed"] == unreadable.count && counts["dropped", default: 0] > 100)
            // The other node is heard as before.
            try await Self.change("gate", at: other, 64)
            await until { ears[0].told("view").contains("gate@B") }
            #expect(ears[0].told("view") == ["door@fake", "gate@B"])
            let services = ears[0].all.filter { $0.contains("cam/1") }
            #expect(services.count == 1 && !services[0].contains("5ECRET"))
          }
          peer.release()
        }
      }
    }
  }

  @Test("a peer's events are read over HTTP only if it has no live lease")
  func source() {
    var cluster = ClusterState(name: "here", instance: "me", peers: ["http://a", "http://self"])
    #expect(cluster.eventSource("http://a") == nil)
    _ = cluster.received(.success(PeerListing(name: "a", instance: "i")), from: "http://a", local: [])
    _ = cluster.received(.success(PeerListing(name: "here", instance: "me")), from: "http://self", local: [])
    #expect(cluster.eventSource("http://a")?.name == "a" && cluster.eventSource("http://self") == nil)
    for isAlive in [true, false] {
      var view = LeaseView()
      view.nodes = [
        .init(name: "a", url: "http://a", instance: "i", isAlive: isAlive, isLeaving: false, listing: nil)
      ]
      _ = cluster.apply(view, local: [])
      #expect((cluster.eventSource("http://a") == nil) == isAlive)
    }
  }

  @Test("EventStreamParser reads the same messages from chunks of any size", arguments: [1, 2, 3, 7, 1000])
  func pieces(size: Int) {
    let text =
      "retry: 3000\nid: e-4\n\n: still here\n\nid: e-5\r\nevent: view\r\ndata: {\r\ndata:  }\r\n\r\nevent: lost\ndata:1\n\nid: ü\ndata: 2\nid\n\ndata"
    let bytes = Array(text.utf8)
    var parser = EventStreamParser(after: "e-1")
    var messages: [EventStreamParser.Message] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      messages += parser.read(bytes[start..<min(start + size, bytes.count)])
    }
    #expect(
      messages == [
        .init(id: EventID("e-5"), type: "view", data: Array("{\n }".utf8)),
        .init(type: "lost", data: [UInt8(ascii: "1")]), .init(data: [UInt8(ascii: "2")]),
      ])
    #expect(parser.lastID == "e-5" && parser.droppedCount == 0)
  }
}
