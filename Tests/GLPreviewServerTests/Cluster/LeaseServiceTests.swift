// Services that share cameras by leases, beside a real nats-server.
import AsyncHTTPClient
import NATS
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceFoundation

/// A node `name` with cameras that move, `cam1` to `cam4`, and one of its own.
private func node(
  _ name: String, _ server: NATSServer, _ change: (inout ServerConfiguration) -> Void = { _ in }
) -> ServerConfiguration {
  var cameras = (1...4).map {
    CameraConfiguration(name: "cam\($0)", source: "pattern:counter,size=64x36,fps=30")
  }
  for index in cameras.indices { cameras[index].home = .any }
  for home in ["one", "two"] {
    var camera = CameraConfiguration(name: "fixed-\(home)", source: "pattern:smpte,size=64x36")
    camera.home = .node(home)
    cameras.append(camera)
  }
  var configuration = ServerConfiguration(cameras: cameras)
  configuration.cluster.name = name
  configuration.cluster.broker = NATSClusterConfiguration(servers: ["nats://127.0.0.1:\(server.port)"])
  change(&configuration)
  return configuration
}

private let withStore = "jetstream { store_dir: \"FOLDER/js\" }"
private let movable = Set((1...4).map { "cam\($0)" })
private let all = movable.union(["fixed-one", "fixed-two"])

extension RunningService {
  fileprivate var own: Set<String> { Set(inside.registry.cameras.map(\.configuration.name)) }

  /// The cameras that this node answers for, with the nodes that have them.
  fileprivate func owners() async throws -> [String: String] {
    let cameras = try await nodes().cameras
    return Dictionary(cameras.map { ($0.name, $0.node ?? "") }) { $1 }
  }
}

@Suite(.enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15))) struct LeaseServiceTests {
  /// Runs `work` with two nodes, once each knows where all cameras are.
  private func withTwo(
    _ server: NATSServer, _ work: @escaping @Sendable (RunningService, RunningService) async throws -> Void,
    after: @escaping @Sendable (RunningService) async throws -> Void = { _ in }
  ) async throws {
    try await withService(node("one", server)) { one in
      try await withService(node("two", server)) { two in
        try await until {
          guard one.own.union(two.own) == all, one.own.isDisjoint(with: two.own) else { return false }
          let (known, others) = try await (one.owners(), two.owners())
          return Set(known.keys) == all && Set(others.keys) == all
        }
        try await work(one, two)
      }
      try await after(one)
    }
  }

  @Test("each shared camera has one owner, and every node serves all cameras") func shares() async throws {
    let server = try await NATSServer(withStore)
    try await withTwo(server) { one, two in
      #expect(one.own.contains("fixed-one"))
      #expect(two.own.contains("fixed-two"))
      try await until { try await one.owners() == two.owners() }

      for service in [one, two] {
        for camera in all.sorted() {
          let answer = try await service.get("/cameras/\(camera)/main.jpg")
          #expect(answer.status == 200, "\(camera)")
          #expect(try JPEGProbe(answer.bytes).width == 64)
        }
      }
      let epochs = one.inside.node.map { node in one.own.sorted().map { node.epoch(of: $0) } }
      #expect(epochs?.allSatisfy { $0 ?? 0 >= 1 } == true)
    }
  }

  @Test("the cameras of a node that stops move to the other node, and their streams continue") func leaves()
    async throws
  {
    let server = try await NATSServer(withStore)
    let streams = Watched<[String: Int]>([:])
    try await withTwo(server) { one, two in
      let moving = two.own.intersection(movable)
      for camera in moving where hasEncoder {
        let body = try await one.openStream("/cameras/\(camera)/main.mp4")
        let name = "\(camera).mp4"
        Task {
          var reader = FragmentedMP4Reader(pictureLimit: 1 << 20)
          for try await chunk in body {
            let count = try reader.take(Array(chunk.readableBytesView)[...]).count
            streams.update { $0[name, default: 0] += count }
          }
        }
        _ = try await streams.first { $0[name] ?? 0 > 3 ? true : nil }
        guard hasWebRTC else { continue }
        let peer = try await WHEPPeer()
        try await peer.connect(try await one.offer(peer, "/cameras/\(camera)/main/whep").answer)
        let session = "\(camera)/whep"
        Task {
          while true {
            _ = try await peer.packet()
            streams.update { $0[session, default: 0] += 1 }
          }
        }
        _ = try await streams.first { $0[session] ?? 0 > 3 ? true : nil }
      }
      for camera in moving {
        let body = try await one.openStream("/cameras/\(camera)/main.mjpeg")
        Task {
          var reader = PartReader()
          for try await chunk in body {
            let count = reader.read(Array(chunk.readableBytesView)).count
            streams.update { $0[camera, default: 0] += count }
          }
        }
        _ = try await streams.first { $0[camera] ?? 0 > 3 ? true : nil }
      }
    } after: { one in
      await until { one.own == movable.union(["fixed-one"]) }
      let before = streams.value
      // More than what was under way.
      for (camera, count) in before {
        _ = try await streams.first { $0[camera] ?? 0 > count + 10 ? true : nil }
      }
      let answer = try await one.get("/cameras/fixed-two/main.jpg")
      #expect((502...503).contains(answer.status))
    }
  }

  @Test("a node keeps its cameras and streams while the NATS server is down and after it is back")
  func brokerLost() async throws {
    let server = try await NATSServer(withStore)
    try await withService(node("one", server)) { one in
      await until { one.own == movable.union(["fixed-one"]) && one.inside.node?.isStoreCurrent == true }
      let stream = try await one.openStream("/cameras/cam1/main.mjpeg")
      var (reader, parts) = (PartReader(), 0)
      var chunks = stream.makeAsyncIterator()
      await server.kill9()
      await until { one.inside.node?.isStoreCurrent == false }

      while parts < 40, let chunk = try await chunks.next() {
        parts += reader.read(Array(chunk.readableBytesView)).count
      }
      #expect(parts >= 40)
      #expect(one.own == movable.union(["fixed-one"]))

      let again = try await NATSServer(withStore, port: server.reserved)
      await until { one.inside.node?.isStoreCurrent == true }
      // The bucket is a new one: everything is written again.
      await until { movable.allSatisfy { one.inside.node?.epoch(of: $0) ?? 0 > 1 } }
      #expect(one.own == movable.union(["fixed-one"]))
      withExtendedLifetime(again) {}
    }
  }

  @Test("a node that has not joined yet reaches the store again after the NATS server was killed")
  func lostBeforeJoining() async throws {
    let server = try await NATSServer(withStore)
    try await withClient(of: server) { client async throws in
      let bucket = try await JetStream(client).createBucket(KeyValueConfiguration(bucket: "glp"))
      // The key of an earlier process, which holds the name for two beats.
      let record = NodeRecord(instance: "earlier", url: "http://127.0.0.1:1", slots: 16)
      _ = try await bucket.update("n.one", record.jsonBytes, revision: 0)
    }
    try await withService(node("one", server) { $0.timeouts.leases.beat = allTheTimeThereIs }) { one in
      await until { one.inside.node?.isStoreCurrent == true }
      await server.kill9()
      await until { one.inside.node?.isStoreCurrent == false }

      let again = try await NATSServer(withStore, port: server.reserved, folder: server.folder)
      await until { one.inside.node?.isStoreCurrent == true }
      withExtendedLifetime((server, again)) {}
    }
  }

  @Test("a PATCH is applied only if its epoch is that of the owner's lease; otherwise it gets 409")
  func leases() async throws {
    let server = try await NATSServer(withStore)
    try await withTwo(server) { one, two in
      func change(
        _ camera: String, at node: RunningService, _ epoch: UInt64?, to width: Int = 32
      ) async throws -> Int {
        let meant = epoch.map { [(PeerField.hop, "1"), (PeerField.epoch, "\($0)")] } ?? []
        return try await node.send(
          "PATCH", "/api/cameras/\(camera)/views/main", meant, body: #"{"width": \#(width)}"#
        ).status
      }
      // Until none has moved meanwhile.
      try await until {
        guard let camera = one.own.intersection(movable).min(), let epoch = one.inside.node?.epoch(of: camera)
        else { return false }
        let statuses = [
          try await change(camera, at: two, nil), try await change(camera, at: one, epoch),
          try await change(camera, at: one, epoch + 1, to: 16),
        ]
        let picture = try await one.get("/cameras/\(camera)/main.jpg")
        return one.inside.node?.epoch(of: camera) == epoch && statuses == [200, 200, 409]
          && picture.headers["X-View-Size"] == ["32x18"]
      }
    }
  }

  @Test(
    "a node rewrites a deleted lease bucket at its next write, and no camera moves",
    arguments: [false, true])
  func bucketDeleted(isMadeAtOnce: Bool) async throws {
    let server = try await NATSServer(withStore)
    let records = [LogRecords(), LogRecords()]
    // Nobody is held for dead, and the watch is not missed.
    @Sendable func patient(_ name: String) -> ServerConfiguration {
      node(name, server) {
        ($0.timeouts.leases.dead, $0.timeouts.leases.heartbeat) = (allTheTimeThereIs, allTheTimeThereIs)
      }
    }
    try await withService(patient("one"), logger: records[0].logger) { one in
      try await withService(patient("two"), logger: records[1].logger) { two in
        await until { one.own.union(two.own) == all && one.own.isDisjoint(with: two.own) }
        let before = one.own
        try await withClient(of: server) { client async throws in
          let stream = try JetStream(client)
          try await stream.deleteBucket("glp")
          if isMadeAtOnce {
            var bucket = KeyValueConfiguration(bucket: "glp")
            bucket.storage = .memory
            _ = try await stream.createBucket(bucket)
          }
          let keys = Set(["one", "two"].map { "n.\($0)" } + all.map { "c.\($0)" })
          await until { (try? await stream.bucket("glp").keys()).map { keys.isSubset(of: $0) } == true }
        }
        // It was not the silence of the watch by which they knew.
        for node in records {
          #expect(node.messages.contains { $0.hasPrefix("lease store reset") })
        }
        for service in [one, two] { await until { service.inside.node?.isStoreCurrent == true } }
        #expect(one.own == before && two.own == all.subtracting(before))
      }
    }
  }

  @Test("a camera that is removed from the configuration is released and returns 404") func reload()
    async throws
  {
    let server = try await NATSServer(withStore)
    let configuration = node("one", server)
    try await withService(configuration) { one in
      await until { one.own == movable.union(["fixed-one"]) }
      var next = configuration.patient()
      next.cameras.removeAll { $0.name == "cam2" }
      next.bind = one.inside.configuration.bind
      try await one.inside.apply(ValidatedConfiguration(next))

      await until { !one.own.contains("cam2") }
      #expect(try await one.get("/cameras/cam2/main.jpg").status == 404)
    }
  }

  @Test("a camera without an owner returns 503 with Retry-After, and an unknown camera 404") func ownerless()
    async throws
  {
    let server = try await NATSServer(withStore)
    let configuration = node("one", server) {
      $0.cluster.slots = 0
      $0.timeouts.peerAnswer = .milliseconds(50)
      $0.timeouts.leases.dead = allTheTimeThereIs
    }
    try await withService(configuration) { one in
      let answer = try await one.get("/cameras/cam1/main.jpg")
      #expect(answer.status == 503)
      #expect(answer.headers.first(name: "Retry-After") == "2")
      #expect(try await one.get("/cameras/nobody/main.jpg").status == 404)
    }
  }
}
