// Several services that are each other's peers, in one process, for tests.
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import Logging
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

/// A node called `edge` that has no cameras of its own, in front of `peer`.
func edgeConfiguration(
  of peer: String, token: String? = nil, _ change: (inout ServerConfiguration) -> Void = { _ in }
) -> ServerConfiguration {
  var configuration = ServerConfiguration(cameras: [])
  configuration.cluster = ClusterConfiguration(name: "edge", peers: [peer], token: token)
  change(&configuration)
  return configuration
}

/// Runs `work` with a service `owner`, and one in front of it that knows its cameras.
func withOwnerAndEdge(
  _ owner: ServerConfiguration, token: String? = nil,
  _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
  makeSource: @escaping CameraRegistry.SourceMaker = SessionSource.init,
  _ work: @escaping @Sendable (_ owner: RunningService, _ edge: RunningService) async throws -> Void
) async throws {
  var owner = owner
  owner.cluster.name = "owner"
  try await withService(owner, makeSource: makeSource) { owner in
    try await withService(edgeConfiguration(of: owner.base, token: token, change)) { edge in
      await until { edge.inside.peers.cluster.peers.first?.state == .up }
      try await work(owner, edge)
    }
  }
}

/// A server that answers as a test wants.
final class FakePeer: Sendable {
  private let isReleased = Watched(false)

  /// Returns when the test is over: for answers that do not come.
  func hangs() async throws { _ = try await isReleased.first { $0 ? true : nil } }

  func release() { isReleased.update { $0 = true } }
}

/// Runs `work` beside a server whose answers are `answer`'s.
func withFakePeer(
  _ answer: @escaping @Sendable (FakePeer, Request) async throws -> Response,
  _ work: @escaping @Sendable (_ address: String, FakePeer) async throws -> Void
) async throws {
  let peer = FakePeer()
  let router = Router(context: ServiceContext.self)
  for method in [HTTPRequest.Method.get, .head, .patch] {
    router.on("**", method: method) { request, _ in try await answer(peer, request) }
  }
  try await withServer(of: router) { server in
    defer { peer.release() }
    try await work("http://127.0.0.1:\(server.port)", peer)
  }
}

extension LeaseView {
  /// What another node knows of these nodes, by their addresses, if `owner` has the camera `camera`.
  static func of(
    _ urls: [String: String], owner: String, epoch: UInt64, without dead: String? = nil
  ) -> LeaseView {
    let views = [PeerView(name: "main", isEnabled: true)]
    let camera = PeerCamera(name: "camera", views: views, state: .live, members: [:])
    var view = LeaseView()
    view.owners = ["camera": .init(node: owner, epoch: epoch, isFixed: false)]
    view.nodes = urls.sorted { $0.key < $1.key }.map { name, url in
      .init(
        name: name, url: url, instance: name, isAlive: name != dead, isLeaving: false,
        listing: PeerListing(cameras: [camera]))
    }
    return view
  }
}

extension RunningService {
  /// What `/api/cameras` says of nodes, as it is.
  struct Nodes: Decodable {
    struct Camera: Decodable {
      let name: String
      let state: String
      var node: String?
      var node_url: String?
      var source: String?
      var reason: String?
    }

    struct Peer: Decodable {
      let name: String
      let state: String
      let cameras: Int
      var url: String?
      var reason: String?
      var conflicts: [String]?
    }

    struct Node: Decodable {
      let name: String
    }

    let cameras: [Camera]
    var peers: [Peer]?
    var node: Node?
  }

  func nodes(_ headers: [(String, String)] = []) async throws -> Nodes {
    try await get("/api/cameras", headers).json(Nodes.self)
  }

  /// How many watch a view as JPEGs.
  func watchers(of camera: String = "camera", _ view: String = "main") -> Int {
    inside.streams.use(of: camera, view).clients
  }
}
